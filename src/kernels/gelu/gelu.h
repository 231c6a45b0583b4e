// GELU of a row of f32, over Google Highway.
#pragma once

#include <attend/matmul.h>

#include <cstdint>

namespace attend::kernels {

// out[i] = form(x[i]), i < n; form is one of the two GELUs. out may be x.
void gelu_row(const float* x, std::int64_t n, Activation form, float* out) noexcept;

}  // namespace attend::kernels
