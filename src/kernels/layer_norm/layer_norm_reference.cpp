#include "kernels/layer_norm/layer_norm_reference.h"

#include <cmath>

namespace attend::kernels {
namespace {

RowMoments<double> moments_of(const double* x, std::int64_t n, double epsilon) noexcept {
  const auto count = static_cast<double>(n);
  double mean = 0, variance = 0;
  for (std::int64_t i = 0; i < n; ++i) mean += x[i] / count;
  for (std::int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / count;
  return {mean, 1 / std::sqrt(variance + epsilon)};
}

}  // namespace

RowMoments<double> layer_norm_row_reference(const double* x, const double* residual, std::int64_t n,
                                            const double* gamma, const double* beta, double epsilon,
                                            double* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] + (residual != nullptr ? residual[i] : 0);
  const RowMoments<double> row = moments_of(out, n, epsilon);
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = (out[i] - row.mean) * row.inverse_deviation * (gamma != nullptr ? gamma[i] : 1) +
             (beta != nullptr ? beta[i] : 0);
  }
  return row;
}

void layer_norm_row_backward_reference(const double* x, const double* d_out, const double* residual,
                                       std::int64_t n, const double* gamma, double epsilon,
                                       double* d_x) noexcept {
  const auto count = static_cast<double>(n);
  const RowMoments<double> row = moments_of(x, n, epsilon);
  const auto y = [&](std::int64_t i) { return (x[i] - row.mean) * row.inverse_deviation; };
  const auto g = [&](std::int64_t i) { return d_out[i] * (gamma != nullptr ? gamma[i] : 1); };
  double mean = 0, along = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    mean += g(i) / count;
    along += g(i) * y(i) / count;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    d_x[i] = (g(i) - mean - y(i) * along) * row.inverse_deviation + (residual != nullptr ? residual[i] : 0);
  }
}

void add_layer_norm_factors_reference(const double* x, const double* d_out, std::int64_t n, double epsilon,
                                      double* d_gamma, double* d_beta) noexcept {
  const RowMoments<double> row = moments_of(x, n, epsilon);
  for (std::int64_t i = 0; i < n; ++i) {
    if (d_gamma != nullptr) d_gamma[i] += d_out[i] * (x[i] - row.mean) * row.inverse_deviation;
    if (d_beta != nullptr) d_beta[i] += d_out[i];
  }
}

}  // namespace attend::kernels
