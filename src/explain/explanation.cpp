#include "explain/explanation.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace attend::explain {
namespace {

void scale_to_one(std::span<double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value = sum > 0 ? value / sum : 0;
}

// All units of a text, and which of them are shown.
struct Units {
  std::vector<Word> all;
  bool special = false;

  // What is shown of a row, as it is.
  std::vector<double> kept(std::span<const double> row) const {
    std::vector<double> values;
    for (std::size_t u = 0; u < all.size(); ++u) {
      if (special || !all[u].special) values.push_back(row[u]);
    }
    return values;
  }
  // As shares of 1, where the method has such.
  std::vector<double> shown(std::span<const double> row, LensMethod method) const {
    std::vector<double> values = kept(row);
    if (adds_up(method)) scale_to_one(values);
    return values;
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
    const std::vector<double> shown =
        query.method == LensMethod::grad ? units.kept(row) : units.shown(row, query.method);
    out = std::copy(shown.begin(), shown.end(), out);
    share += special_share(row, units.all) / static_cast<double>(count);
  }
  if (query.method == LensMethod::grad) scale_to_one(map.values<double>());
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
    const double total = std::accumulate(row.begin(), row.end(), 0.0);
    const double special = total > 0 ? special_share(row, units.all) / total : 0;
    focus.rows.push_back({method, units.shown(row, method), special});
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
