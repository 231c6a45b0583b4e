#include "kernels/layer_norm/layer_norm_reference.h"

#include <cmath>

namespace attend::kernels {

RowMoments<double> layer_norm_row_reference(const double* x, const double* residual, std::int64_t n,
                                            const double* gamma, const double* beta, double epsilon,
                                            double* out) noexcept {
  const auto count = static_cast<double>(n);
  double mean = 0, variance = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = x[i] + (residual != nullptr ? residual[i] : 0);
    mean += out[i] / count;
  }
  for (std::int64_t i = 0; i < n; ++i) variance += (out[i] - mean) * (out[i] - mean) / count;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = (out[i] - mean) / std::sqrt(variance + epsilon) * (gamma != nullptr ? gamma[i] : 1) +
             (beta != nullptr ? beta[i] : 0);
  }
  return {mean, 1 / std::sqrt(variance + epsilon)};
}

}  // namespace attend::kernels
