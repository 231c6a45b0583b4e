// Sums over the rows of a tensor with the same bits whatever the threads: a fixed number of rows is added up
// together, and these parts in their order, in float64.
#pragma once

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"

namespace attend::detail {

inline constexpr std::int64_t kRowsOfASum = 128;

// add_row(row, sums, room) adds a row's share to sums (n numbers, zeroed); room is n numbers to work in.
// Returns the totals. add_row is noexcept.
template <class Number, class AddRow>
std::vector<double> sum_rows(std::int64_t rows, std::int64_t n, const AddRow& add_row) {
  const std::int64_t parts = (rows + kRowsOfASum - 1) / kRowsOfASum;
  std::vector<double> totals(static_cast<std::size_t>(n));
  if (n == 0) return totals;
  const int lanes = lanes_for(parts);
  const Scratch sums = Scratch::of<Number>(parts * n);
  const LaneScratch<Number> rooms(lanes, 2 * n);
  Number* const data = sums.as<Number>();
  std::fill_n(data, parts * n, Number(0));
  parallel_for(parts, lanes, [&](std::int64_t part, int lane) noexcept {
    const std::int64_t end = std::min(rows, (part + 1) * kRowsOfASum);
    for (std::int64_t row = part * kRowsOfASum; row < end; ++row) {
      add_row(row, data + part * n, rooms.of(lane));
    }
  });
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::int64_t j = 0; j < n; ++j) {
      totals[static_cast<std::size_t>(j)] += static_cast<double>(data[part * n + j]);
    }
  }
  return totals;
}

}  // namespace attend::detail
