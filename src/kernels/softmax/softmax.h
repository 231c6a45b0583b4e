// Softmax of one row of f32, over Google Highway.
#pragma once

#include <cstdint>

namespace attend::kernels {

// The largest number of a row and the sum of exp(x[j] - max): what the logarithm of a weight is made from.
struct SoftmaxSums {
  float max;
  double sum;
};

// out[i] = exp(x[i] - max) / sum of exp(x[j] - max), i < n. out may be x. A row of -inf gives 0; NaN or +inf
// anywhere gives NaN everywhere. Exponentials below the smallest normal f32 count as 0.
SoftmaxSums softmax_row(const float* x, std::int64_t n, float* out) noexcept;

}  // namespace attend::kernels
