// The two numbers that are kept of a row, (maximum, sum), and what follows from them. In float64, whatever
// the storage.
#pragma once

#include <cstdint>

namespace attend::kernels {

struct RowNumbers {
  double max = 0;
  double sum = 0;
};

double log_sum_exp(RowNumbers row) noexcept;

// How two partial rows over disjoint keys combine: their share of the whole, and the whole's numbers.
struct Merge {
  RowNumbers whole;
  double share_a = 0;
  double share_b = 0;
};
Merge merge(RowNumbers a, RowNumbers b) noexcept;

}  // namespace attend::kernels
