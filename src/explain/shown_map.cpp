#include "explain/shown_map.h"

#include <algorithm>
#include <numeric>

#include "base/largest_first.h"

namespace attend::explain {
namespace {

void scale_to_one(std::span<double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value = value == 0 ? 0 : value / sum;
}

double tokens_of(const Word& unit) { return static_cast<double>(unit.last_token - unit.first_token); }

// Appends the largest values of a row, largest first.
void add_top(std::span<const double> row, TopOfRows& top) {
  std::vector<std::int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + top.count, order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      const double x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
                      return larger_first(x, y) || (!larger_first(y, x) && a < b);
                    });
  for (std::int64_t i = 0; i < top.count; ++i) {
    const std::int64_t unit = order[static_cast<std::size_t>(i)];
    top.units.push_back(unit);
    top.values.push_back(row[static_cast<std::size_t>(unit)]);
  }
}

// Which stretch each unit belongs to.
std::vector<std::size_t> places_in(const std::vector<Word>& stretches, const std::vector<Word>& units) {
  std::vector<std::size_t> places;
  std::size_t stretch = 0;
  for (const Word& unit : units) {
    while (stretches[stretch].last_token <= unit.first_token) ++stretch;
    places.push_back(stretch);
  }
  return places;
}

}  // namespace

Units Units::of(const Reading& reading, const ExplainRequest& request,
                const std::optional<FirstToken>& first) {
  Units units{.all = request.tokens ? single_tokens(reading) : reading.words(), .special = request.special};
  // A special token is left out with the others of its kind, or asked for with them.
  const bool plain = !units.all.front().special || units.special;
  if (folds_first_token(request.sink, first) && plain) {
    units.all = first_token_apart(reading, std::move(units.all));
    units.folds = true;
  }
  // What is left out is shown if there is nothing else: the first token before special ones.
  const auto nothing = [&] {
    return std::none_of(units.all.begin(), units.all.end(),
                        [&](const Word& unit) { return units.shows(unit); });
  };
  if (nothing()) units.folds = false;
  if (nothing()) units.special = true;
  return units;
}

std::vector<Word> Units::shown() const {
  std::vector<Word> units;
  for (const Word& unit : all) {
    if (shows(unit)) units.push_back(unit);
  }
  return units;
}

std::vector<double> Units::kept(std::span<const double> row) const {
  std::vector<double> values;
  values.reserve(row.size());
  for (std::size_t u = 0; u < all.size(); ++u) {
    if (shows(all[u])) values.push_back(row[u]);
  }
  return values;
}

std::vector<double> Units::kept_shares(std::span<const double> row, LensMethod method) const {
  std::vector<double> values = kept(row);
  if (adds_up(method)) scale_to_one(values);
  return values;
}

ShownMap shown_map(const Reading& reading, const ExplainRequest& request, const Units& units) {
  const std::vector<Word> shown = units.shown();
  const std::size_t length = (shown.size() + kMostMapUnits - 1) / kMostMapUnits;
  ShownMap map;
  map.units = length > 1 ? stretches_of(shown, length) : shown;
  const auto count = static_cast<std::int64_t>(map.units.size());
  map.cells = Tensor(DType::f64, {count, count});
  if (length > 1) {
    map.top.emplace();
    map.top->count = static_cast<std::int64_t>(std::min(request.top, shown.size()));
  }
  const std::vector<std::size_t> places = places_in(map.units, shown);
  const bool grad = request.query.method == LensMethod::grad;  // its rows are not normalised
  std::size_t next = 0;                                        // of the units that are shown
  lens_each_row(reading, request.query, units.all, [&](std::size_t unit, std::span<const double> row) {
    if (!units.shows(units.all[unit])) return;
    const std::vector<double> values = grad ? units.kept(row) : units.kept_shares(row, request.query.method);
    const std::size_t stretch = places[next++];
    // The mean over the tokens of a stretch, as over those of a word.
    const double scale = grad ? 1.0 : tokens_of(units.all[unit]) / tokens_of(map.units[stretch]);
    const std::span<double> cells =
        map.cells.values<double>().subspan(stretch * map.units.size(), map.units.size());
    for (std::size_t j = 0; j < values.size(); ++j) cells[places[j]] += scale * values[j];
    if (map.top) add_top(values, *map.top);
    map.special_share += special_share(row, units.all) / static_cast<double>(shown.size());
    if (units.folds) map.sink_share += row.front() / static_cast<double>(shown.size());
  });
  if (grad) scale_to_one(map.cells.values<double>());
  return map;
}

}  // namespace attend::explain
