#include "explain/shown_map.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/largest_first.h"

namespace attend::explain {
namespace {

void scale_to_one(std::span<double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value = value == 0 ? 0 : value / sum;
}

double tokens_of(const Word& unit) { return static_cast<double>(unit.last_token - unit.first_token); }

// Appends the largest values of a row, largest first. Those of its units from `first` on are given; the
// others, of which there are enough, are 0.
void add_top(std::span<const double> row, std::size_t first, TopOfRows& top) {
  std::vector<std::int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const std::int64_t given = std::min(top.count, static_cast<std::int64_t>(row.size()));
  std::partial_sort(order.begin(), order.begin() + given, order.end(), [&](std::int64_t a, std::int64_t b) {
    const double x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
    return larger_first(x, y) || (!larger_first(y, x) && a < b);
  });
  for (std::int64_t i = 0; i < given; ++i) {
    const std::int64_t unit = order[static_cast<std::size_t>(i)];
    top.units.push_back(static_cast<std::int64_t>(first) + unit);
    top.values.push_back(row[static_cast<std::size_t>(unit)]);
  }
  const auto begin = static_cast<std::int64_t>(first), end = begin + static_cast<std::int64_t>(row.size());
  for (std::int64_t unit = 0, missing = top.count - given; missing > 0; ++unit) {
    if (unit >= begin && unit < end) continue;
    top.units.push_back(unit);
    top.values.push_back(0);
    --missing;
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

MapRows::MapRows(std::vector<Word> shown, const ExplainRequest& request)
    : shown_(std::move(shown)), grad_(request.query.method == LensMethod::grad) {
  const std::size_t length = (shown_.size() + kMostMapUnits - 1) / kMostMapUnits;
  map_.units = length > 1 ? stretches_of(shown_, length) : shown_;
  const auto count = static_cast<std::int64_t>(map_.units.size());
  map_.cells = Tensor(DType::f64, {count, count});
  if (length > 1) {
    map_.top.emplace();
    map_.top->count = static_cast<std::int64_t>(std::min(request.top, shown_.size()));
  }
  places_ = places_in(map_.units, shown_);
}

void MapRows::add(std::size_t unit, std::size_t first, std::span<const double> values, double special,
                  double sink) {
  const std::size_t stretch = places_[unit];
  // The mean over the tokens of a stretch, as over those of a word.
  const double scale = grad_ ? 1.0 : tokens_of(shown_[unit]) / tokens_of(map_.units[stretch]);
  const std::span<double> cells =
      map_.cells.values<double>().subspan(stretch * map_.units.size(), map_.units.size());
  for (std::size_t j = 0; j < values.size(); ++j) cells[places_[first + j]] += scale * values[j];
  if (map_.top) add_top(values, first, *map_.top);
  map_.special_share += special / static_cast<double>(shown_.size());
  map_.sink_share += sink / static_cast<double>(shown_.size());
}

ShownMap MapRows::finish() && {
  if (grad_) scale_to_one(map_.cells.values<double>());
  return std::move(map_);
}

ShownMap shown_map(const Reading& reading, const ExplainRequest& request, const Units& units) {
  MapRows rows(units.shown(), request);
  const bool grad = request.query.method == LensMethod::grad;  // its rows are not normalised
  std::size_t next = 0;                                        // of the units that are shown
  lens_each_row(reading, request.query, units.all, [&](std::size_t unit, std::span<const double> row) {
    if (!units.shows(units.all[unit])) return;
    const std::vector<double> values = grad ? units.kept(row) : units.kept_shares(row, request.query.method);
    rows.add(next++, 0, values, special_share(row, units.all), units.folds ? row.front() : 0);
  });
  return std::move(rows).finish();
}

}  // namespace attend::explain
