// The gradients of layer normalisation, row by row of f32, over Google Highway.
#pragma once

#include <cstdint>

namespace attend::kernels {

// d_x = (g - mean(g) - y mean(g y)) / sqrt(variance + epsilon) + residual, with g = d_out gamma and y the
// normalised x; n elements each, n > 0. gamma and residual may be null. d_x may be x, d_out or residual.
void layer_norm_row_backward(const float* x, const float* d_out, const float* residual, std::int64_t n,
                             const float* gamma, float epsilon, float* d_x) noexcept;

// d_gamma += d_out y, d_beta += d_out. Either may be null.
void add_layer_norm_factors(const float* x, const float* d_out, std::int64_t n, float epsilon, float* d_gamma,
                            float* d_beta) noexcept;

}  // namespace attend::kernels
