// Layer normalisation of a row of f32, over Google Highway.
#pragma once

#include <cstdint>

#include "kernels/layer_norm/moments.h"

namespace attend::kernels {

// out = (s - mean) / sqrt(variance + epsilon) gamma + beta with s = x + residual; n elements each. residual,
// gamma and beta may be null. out may be x or residual. Returns the moments of s; n > 0.
RowMoments<float> layer_norm_row(const float* x, const float* residual, std::int64_t n, const float* gamma,
                                 const float* beta, float epsilon, float* out) noexcept;

}  // namespace attend::kernels
