#include "draw/heatmap.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace attend::draw {
namespace {

// Block i of n things in m blocks is [block_start(i), block_start(i + 1)).
std::size_t block_start(std::size_t i, std::size_t n, std::size_t m) { return i * n / m; }

std::vector<std::string> block_labels(std::size_t n, std::size_t m) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < m; ++i) labels.push_back(std::to_string(block_start(i, n, m)));
  return labels;
}

}  // namespace

void check(const Heatmap& map) {
  const auto refuse_labels = [](const char* what, std::size_t labels, std::size_t count) {
    if (labels != 0 && labels != count)
      refuse("heatmap", labels, " ", what, " labels for ", count, " ", what, "s");
  };
  refuse_labels("row", map.row_labels.size(), map.rows);
  refuse_labels("column", map.column_labels.size(), map.columns);
  const std::size_t cells = map.rows * map.columns;
  if (map.values.size() != cells) {
    refuse("heatmap", map.values.size(), " values for ", map.rows, " x ", map.columns, " cells");
  }
  if (!map.masked.empty() && map.masked.size() != cells) {
    refuse("heatmap", map.masked.size(), " masked flags for ", map.rows, " x ", map.columns, " cells");
  }
  if (map.focus_row && *map.focus_row >= map.rows) {
    refuse("heatmap", "row ", *map.focus_row, " in focus, of ", map.rows, " rows");
  }
}

ValueRange range_of(const Heatmap& map) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  ValueRange range{inf, -inf};
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    if (!std::isfinite(map.values[i]) || (!map.masked.empty() && map.masked[i])) continue;
    range.low = std::min(range.low, map.values[i]);
    range.high = std::max(range.high, map.values[i]);
  }
  return range.low > range.high ? ValueRange{} : range;
}

double place_in(ValueRange range, double value) {
  if (std::isnan(value)) return value;
  if (value == range.low && value == range.high) return 0.5;
  if (value <= range.low) return 0;
  if (value >= range.high) return 1;
  // Halved first: the length of a range of doubles may overflow.
  return (value / 2 - range.low / 2) / (range.high / 2 - range.low / 2);
}

Heatmap max_pooled(const Heatmap& map, std::size_t rows, std::size_t columns) {
  if (rows < 1 || rows > map.rows || columns < 1 || columns > map.columns) {
    refuse("heatmap", "cannot pool ", map.rows, " x ", map.columns, " cells into ", rows, " x ", columns);
  }
  Heatmap small;
  small.title = map.title;
  small.rows = rows;
  small.columns = columns;
  small.row_labels = block_labels(map.rows, rows);
  small.column_labels = block_labels(map.columns, columns);
  small.range = map.range;
  small.row_title = map.row_title;
  small.column_title = map.column_title;
  small.value_label = map.value_label;
  if (map.focus_row) {
    std::size_t block = 0;
    while (block_start(block + 1, map.rows, rows) <= *map.focus_row) ++block;
    small.focus_row = block;
  }
  small.values.resize(rows * columns);
  small.masked.resize(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      double largest = -std::numeric_limits<double>::infinity();
      bool all_masked = true;
      for (std::size_t r = block_start(i, map.rows, rows); r < block_start(i + 1, map.rows, rows); ++r) {
        for (std::size_t c = block_start(j, map.columns, columns);
             c < block_start(j + 1, map.columns, columns); ++c) {
          if (map.is_masked(r, c)) continue;
          all_masked = false;
          // The comparison is false when the left side is NaN, so a NaN stays.
          if (std::isnan(map.at(r, c)) || map.at(r, c) > largest) largest = map.at(r, c);
          if (std::isnan(largest)) break;
        }
      }
      small.values[i * columns + j] = largest;
      small.masked[i * columns + j] = all_masked;
    }
  }
  return small;
}

}  // namespace attend::draw
