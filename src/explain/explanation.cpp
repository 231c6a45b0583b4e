#include "explain/explanation.h"

#include <algorithm>

#include "base/error.h"

namespace attend::explain {
namespace {

// All units of a text, and which of them are shown.
struct Units {
  std::vector<Word> all;
  bool special = false;

  std::vector<double> shown(std::span<const double> row, LensMethod method) const {
    if (special) return {row.begin(), row.end()};
    if (adds_up(method)) return without_special(row, all);
    std::vector<double> kept;  // what is left stays as it is
    for (std::size_t u = 0; u < all.size(); ++u) {
      if (!all[u].special) kept.push_back(row[u]);
    }
    return kept;
  }
};

Units units_of(const Reading& reading, const ExplainRequest& request) {
  Units units{.all = request.tokens ? single_tokens(reading) : reading.words(), .special = request.special};
  // Special tokens are shown where there is nothing else.
  if (std::all_of(units.all.begin(), units.all.end(), [](const Word& unit) { return unit.special; }))
    units.special = true;
  return units;
}

// The rows and columns that are shown; `share` becomes what special tokens got of them, on average.
Tensor shown_map(const Reading& reading, const LensQuery& query, const Units& units, double& share) {
  const auto count = std::count_if(units.all.begin(), units.all.end(),
                                   [&](const Word& unit) { return units.special || !unit.special; });
  const Tensor whole = lens_map(reading, query, units.all);
  Tensor map(DType::f64, {count, count});
  auto out = map.values<double>().begin();
  share = 0;
  for (std::size_t u = 0; u < units.all.size(); ++u) {
    if (!units.special && units.all[u].special) continue;
    const auto row = whole.values<double>().subspan(u * units.all.size(), units.all.size());
    const std::vector<double> shown = units.shown(row, query.method);
    out = std::copy(shown.begin(), shown.end(), out);
    share += special_share(row, units.all) / static_cast<double>(count);
  }
  return map;
}

// Where it looks and what it takes; and, if that is another, by the method that was asked for.
Focus look_closely(const Reading& reading, const ExplainRequest& request, const Units& units,
                   std::size_t unit) {
  Focus focus;
  for (std::size_t u = 0; u < unit; ++u) focus.unit += units.special || !units.all[u].special ? 1 : 0;
  std::vector<LensMethod> methods = {LensMethod::raw, LensMethod::norm};
  if (request.query.method > LensMethod::norm) methods.insert(methods.begin(), request.query.method);
  for (const LensMethod method : methods) {
    LensQuery query = request.query;
    query.method = method;
    const std::vector<double> row = lens_row(reading, query, units.all, unit);
    focus.rows.push_back({method, units.shown(row, method), special_share(row, units.all)});
  }
  return focus;
}

}  // namespace

Tensor explain_map(const Reading& reading, const ExplainRequest& request) {
  double share = 0;
  return shown_map(reading, request.query, units_of(reading, request), share);
}

Explanation explain(const Reading& reading, const ExplainRequest& request) {
  Units units = units_of(reading, request);
  std::optional<std::size_t> focus;
  if (request.focus) focus = find_word(units.all, *request.focus);
  if (focus && units.all[*focus].special) units.special = true;  // it is asked about

  Explanation result;
  for (const Word& unit : units.all)
    (units.special || !unit.special ? result.units : result.left_out).push_back(unit);
  if (request.query.method == LensMethod::flow) {
    if (!focus) refuse("explain", "flow is found for one word at a time: which one?");
  } else {
    result.map = shown_map(reading, request.query, units, result.special_share);
  }
  for (const double received : lens_received(reading, request.query.heads, result.units))
    result.received.push_back(received / static_cast<double>(reading.size()));
  if (focus) result.focus = look_closely(reading, request, units, *focus);
  if (request.to) {
    if (!request.focus) refuse("explain", "which word should the heads link to \"", *request.to, "\"?");
    result.links = find_heads(reading, {.from = find_word(reading.words(), *request.focus),
                                        .to = find_word(reading.words(), *request.to)});
  }
  if (request.heads) result.profiles = profile_heads(reading);
  if (!request.ablate.empty()) {
    EncoderEdits edits;
    for (const std::string& text : request.ablate) {
      const EncoderEdits one = parse_edit(reading, text);
      edits.heads.insert(edits.heads.end(), one.heads.begin(), one.heads.end());
      edits.edges.insert(edits.edges.end(), one.edges.begin(), one.edges.end());
    }
    result.change = change_by(reading, edits);
  }
  return result;
}

}  // namespace attend::explain
