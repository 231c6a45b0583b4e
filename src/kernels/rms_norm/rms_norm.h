// Normalisation of a row of f32 by its root mean square, and its gradients, over Google Highway.
#pragma once

#include <cstdint>

namespace attend::kernels {

// out = x / sqrt(mean(x^2) + epsilon) gamma; n elements each, n > 0. gamma may be null; out may be x.
void rms_norm_row(const float* x, std::int64_t n, const float* gamma, float epsilon, float* out) noexcept;

// d_x = r (g - x r^2 mean(g x)) + residual, with r = 1 / sqrt(mean(x^2) + epsilon) and g = d_out gamma. gamma
// and residual may be null. d_x may be x, d_out or residual.
void rms_norm_row_backward(const float* x, const float* d_out, const float* residual, std::int64_t n,
                           const float* gamma, float epsilon, float* d_x) noexcept;

// d_gamma += d_out x r.
void add_rms_norm_factors(const float* x, const float* d_out, std::int64_t n, float epsilon,
                          float* d_gamma) noexcept;

}  // namespace attend::kernels
