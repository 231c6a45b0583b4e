#include "kernels/attention/row_state.h"

#include <cmath>
#include <limits>

namespace attend::kernels {

double log_sum_exp(RowNumbers row) noexcept {
  return row.sum == 0 ? -std::numeric_limits<double>::infinity() : row.max + std::log(row.sum);
}

Merge merge(RowNumbers a, RowNumbers b) noexcept {
  // A part without keys says nothing; asking first keeps -inf - -inf out of the exponentials.
  if (a.sum == 0 && b.sum == 0) return {a, 0, 0};
  if (a.sum == 0) return {b, 0, 1};
  if (b.sum == 0) return {a, 1, 0};
  const double max = a.max > b.max || std::isnan(a.max) ? a.max : b.max;
  const double part_a = a.sum * std::exp(a.max - max);
  const double part_b = b.sum * std::exp(b.max - max);
  const double sum = part_a + part_b;
  return {{max, sum}, part_a / sum, part_b / sum};
}

}  // namespace attend::kernels
