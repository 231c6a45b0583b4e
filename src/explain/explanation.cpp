#include "explain/explanation.h"

#include <algorithm>

namespace attend::explain {
namespace {

// A row over all units as it is shown.
std::vector<double> shown_row(std::span<const double> row, std::span<const Word> units, bool special) {
  return special ? std::vector(row.begin(), row.end()) : without_special(row, units);
}

Focus look_closely(const Reading& reading, const ExplainRequest& request, std::span<const Word> units,
                   std::size_t unit) {
  const std::vector<double> looks =
      lens_row(reading, {.method = LensMethod::raw, .heads = request.heads}, units, unit);
  const std::vector<double> takes =
      lens_row(reading, {.method = LensMethod::norm, .heads = request.heads}, units, unit);
  Focus focus;
  focus.looks = shown_row(looks, units, request.special);
  focus.takes = shown_row(takes, units, request.special);
  focus.looks_at_special = special_share(looks, units);
  focus.takes_from_special = special_share(takes, units);
  for (std::size_t u = 0; u < unit; ++u) focus.unit += request.special || !units[u].special ? 1 : 0;
  return focus;
}

}  // namespace

Explanation explain(const Reading& reading, const ExplainRequest& request) {
  const std::vector<Word> units = request.tokens ? single_tokens(reading) : reading.words();
  // A text of nothing but special tokens has nothing else to show.
  const bool all = std::all_of(units.begin(), units.end(), [](const Word& unit) { return unit.special; });
  ExplainRequest asked = request;
  asked.special = request.special || all;
  std::optional<std::size_t> focus;
  if (request.focus) focus = find_word(units, *request.focus);

  Explanation result;
  for (const Word& unit : units)
    (asked.special || !unit.special ? result.units : result.left_out).push_back(unit);
  const auto count = static_cast<std::int64_t>(result.units.size());
  const Tensor whole = lens_map(reading, {.method = request.method, .heads = request.heads}, units);
  result.map = Tensor(DType::f64, {count, count});
  auto out = result.map.values<double>().begin();
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (!asked.special && units[u].special) continue;
    const auto row = whole.values<double>().subspan(u * units.size(), units.size());
    const std::vector<double> shown = shown_row(row, units, asked.special);
    out = std::copy(shown.begin(), shown.end(), out);
    result.special_share += special_share(row, units) / static_cast<double>(count);
  }
  if (focus) {
    asked.special = asked.special || units[*focus].special;
    if (asked.special != (request.special || all)) {
      // The focus is a special token itself, so those are shown.
      ExplainRequest again = request;
      again.special = true;
      return explain(reading, again);
    }
    result.focus = look_closely(reading, asked, units, *focus);
  }
  return result;
}

}  // namespace attend::explain
