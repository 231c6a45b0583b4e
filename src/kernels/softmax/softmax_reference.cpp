#include "kernels/softmax/softmax_reference.h"

#include <cmath>
#include <limits>

namespace attend::kernels {

void softmax_row_reference(const double* x, std::int64_t n, double* out) noexcept {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  double max = kNone;
  for (std::int64_t i = 0; i < n; ++i) max = x[i] > max ? x[i] : max;
  const double shift = max == kNone ? 0 : max;  // a row of -inf
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = std::exp(x[i] - shift);
    sum += out[i];
  }
  for (std::int64_t i = 0; i < n; ++i) out[i] = sum == 0 ? 0 : out[i] / sum;
}

void softmax_row_backward_reference(const double* weights, const double* d_weights, std::int64_t n,
                                    double* d_x) noexcept {
  double mean = 0;
  for (std::int64_t i = 0; i < n; ++i) mean += weights[i] * d_weights[i];
  for (std::int64_t i = 0; i < n; ++i) d_x[i] = weights[i] * (d_weights[i] - mean);
}

}  // namespace attend::kernels
