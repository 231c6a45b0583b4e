// GELU of a row of f32 and its gradient, over Google Highway.
#pragma once

#include <attend/activation.h>

#include <cstdint>

namespace attend::kernels {

// out[i] = form(x[i]), i < n; form is one of the two GELUs. out may be x.
void gelu_row(const float* x, std::int64_t n, Activation form, float* out) noexcept;

// d_x[i] = d_out[i] form'(x[i]). d_x may be x or d_out.
void gelu_row_backward(const float* x, const float* d_out, std::int64_t n, Activation form,
                       float* d_x) noexcept;

}  // namespace attend::kernels
