#include "explain/units_arrays.h"

namespace attend::explain {

std::vector<std::int64_t> spans_of(const std::vector<Word>& units) {
  std::vector<std::int64_t> spans;
  for (const Word& unit : units) spans.insert(spans.end(), {unit.first_token, unit.last_token});
  return spans;
}

void add_units(ArrayList& arrays, const std::vector<Word>& units) {
  std::vector<std::int64_t> places, special;
  for (const Word& unit : units) {
    places.insert(places.end(), {unit.place.begin, unit.place.end});
    special.push_back(unit.special ? 1 : 0);
  }
  const auto count = static_cast<std::int64_t>(units.size());
  arrays.add("spans", {count, 2}, spans_of(units));
  arrays.add("places", {count, 2}, places);
  arrays.add("special", {count}, special);
}

}  // namespace attend::explain
