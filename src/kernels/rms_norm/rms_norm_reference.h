// Normalisation of one row by its root mean square in float64, as the formula has it: what the f32 kernel is
// judged by.
#pragma once

#include <cstdint>

namespace attend::kernels {

// As rms_norm_row(), rms_norm_row_backward() and add_rms_norm_factors().
void rms_norm_row_reference(const double* x, std::int64_t n, const double* gamma, double epsilon,
                            double* out) noexcept;
void rms_norm_row_backward_reference(const double* x, const double* d_out, const double* residual,
                                     std::int64_t n, const double* gamma, double epsilon,
                                     double* d_x) noexcept;
void add_rms_norm_factors_reference(const double* x, const double* d_out, std::int64_t n, double epsilon,
                                    double* d_gamma) noexcept;

}  // namespace attend::kernels
