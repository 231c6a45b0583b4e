// Softmax of one row in float64, as the formula has it: what the f32 kernel is judged by, and its gradient.
#pragma once

#include <cstdint>

namespace attend::kernels {

// As softmax_row(). out may be x.
void softmax_row_reference(const double* x, std::int64_t n, double* out) noexcept;

// d_x = weights (d_weights - sum(d_weights weights)), where weights is what softmax gave. d_x may be either.
void softmax_row_backward_reference(const double* weights, const double* d_weights, std::int64_t n,
                                    double* d_x) noexcept;

}  // namespace attend::kernels
