// An explanation as arrays in a file.
#include <string>

#include "explain/array_list.h"
#include "explain/explanation.h"

namespace attend::explain {
namespace {

std::vector<std::int64_t> spans_of(const std::vector<Word>& units) {
  std::vector<std::int64_t> spans;
  for (const Word& unit : units) spans.insert(spans.end(), {unit.first_token, unit.last_token});
  return spans;
}

}  // namespace

void save_arrays(const Reading& reading, const Explanation& explanation, const std::filesystem::path& file,
                 std::string_view format) {
  std::vector<std::int64_t> places, special;
  for (const Word& unit : explanation.units) {
    places.insert(places.end(), {unit.place.begin, unit.place.end});
    special.push_back(unit.special ? 1 : 0);
  }
  const auto count = static_cast<std::int64_t>(explanation.units.size());
  const std::vector<std::int32_t>& read =
      explanation.windows ? explanation.windows->ids : reading.tokens().ids;
  const std::vector<std::int64_t> ids(read.begin(), read.end());
  ArrayList arrays;
  if (explanation.map.count() > 0) arrays.add("weights", copy_of(explanation.map));
  arrays.add("spans", {count, 2}, spans_of(explanation.units));
  arrays.add("places", {count, 2}, places);
  arrays.add("special", {count}, special);
  if (const auto& top = explanation.top) {
    arrays.add("stretches", {static_cast<std::int64_t>(explanation.map_units.size()), 2},
               spans_of(explanation.map_units));
    arrays.add("top_units", {count, top->count}, top->units);
    arrays.add("top_values", Tensor::from<double>({count, top->count}, top->values));
  }
  arrays.add("received", explanation.received);
  if (const auto& sink = explanation.sink)
    arrays.add("sink", std::vector<double>{sink->token.share, sink->folded ? 1.0 : 0.0});
  arrays.add("ids", {static_cast<std::int64_t>(ids.size())}, ids);
  if (explanation.focus) {
    arrays.add("focus", {1}, {static_cast<std::int64_t>(explanation.focus->unit)});
    for (const FocusRow& row : explanation.focus->rows)
      arrays.add("focus_" + std::string(name_of(row.method)), row.values);
  }
  arrays.save(file, format);
}

}  // namespace attend::explain
