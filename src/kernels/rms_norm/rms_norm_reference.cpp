#include "kernels/rms_norm/rms_norm_reference.h"

#include <cmath>

namespace attend::kernels {
namespace {

double inverse_root(const double* x, std::int64_t n, double epsilon) noexcept {
  double squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
  return 1 / std::sqrt(squares / static_cast<double>(n) + epsilon);
}

}  // namespace

void rms_norm_row_reference(const double* x, std::int64_t n, const double* gamma, double epsilon,
                            double* out) noexcept {
  const double r = inverse_root(x, n, epsilon);
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * r * (gamma != nullptr ? gamma[i] : 1);
}

void rms_norm_row_backward_reference(const double* x, const double* d_out, const double* residual,
                                     std::int64_t n, const double* gamma, double epsilon,
                                     double* d_x) noexcept {
  const double r = inverse_root(x, n, epsilon);
  const auto g = [&](std::int64_t i) { return d_out[i] * (gamma != nullptr ? gamma[i] : 1); };
  double products = 0;
  for (std::int64_t i = 0; i < n; ++i) products += g(i) * x[i];
  const double share = r * r * products / static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    d_x[i] = r * (g(i) - x[i] * share) + (residual != nullptr ? residual[i] : 0);
  }
}

void add_rms_norm_factors_reference(const double* x, const double* d_out, std::int64_t n, double epsilon,
                                    double* d_gamma) noexcept {
  const double r = inverse_root(x, n, epsilon);
  for (std::int64_t i = 0; i < n; ++i) d_gamma[i] += d_out[i] * x[i] * r;
}

}  // namespace attend::kernels
