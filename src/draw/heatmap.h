// A heatmap as data: what it shows, not how. Every backend draws from this.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attend::draw {

// The values at the two ends of the colour scale.
struct ValueRange {
  double low = 0;
  double high = 1;
};

struct Heatmap {
  std::string title;
  std::size_t rows = 0, columns = 0;
  std::vector<std::string> row_labels;     // one per row, or empty: rows are then numbered from 0
  std::vector<std::string> column_labels;  // likewise
  std::vector<double> values;              // (rows, columns), row-major
  std::vector<bool> masked;                // the same shape, or empty; a masked cell shows no value
  ValueRange range;
  std::string row_title, column_title;        // such as "query" and "key"; may be empty
  std::string value_label;                    // what the colours mean, such as "weight"; may be empty
  std::optional<std::size_t> focus_row = {};  // a row to highlight

  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  bool is_masked(std::size_t row, std::size_t column) const {
    return !masked.empty() && masked[row * columns + column];
  }
  std::string row_label(std::size_t row) const { return label(row_labels, row); }
  std::string column_label(std::size_t column) const { return label(column_labels, column); }

 private:
  static std::string label(const std::vector<std::string>& labels, std::size_t i) {
    return labels.empty() ? std::to_string(i) : labels[i];
  }
};

// Throws std::invalid_argument when sizes do not agree.
void check(const Heatmap& map);

inline bool is_blank(const Heatmap& map) { return map.rows == 0 || map.columns == 0; }

// From the smallest to the largest finite value that is not masked; (0, 1) when there is none.
ValueRange range_of(const Heatmap& map);

// The position of a value on the scale, in [0, 1]; an empty range puts everything in the middle. NaN stays
// NaN.
double place_in(ValueRange range, double value);

// The map in fewer cells, each the maximum of its block, so that a single strong cell never disappears; a
// block is masked when all of it is, and NaN when any of it is. Labels become the index of a block's first
// row or column. The row in focus becomes its block. rows and columns: from 1 to those of the map.
Heatmap max_pooled(const Heatmap& map, std::size_t rows, std::size_t columns);

}  // namespace attend::draw
