// Layer normalisation of one row in float64, as the formula has it: what the f32 kernel is judged by.
#pragma once

#include <cstdint>

#include "kernels/layer_norm/moments.h"

namespace attend::kernels {

// As layer_norm_row().
RowMoments<double> layer_norm_row_reference(const double* x, const double* residual, std::int64_t n,
                                            const double* gamma, const double* beta, double epsilon,
                                            double* out) noexcept;

// As layer_norm_row_backward() and add_layer_norm_factors().
void layer_norm_row_backward_reference(const double* x, const double* d_out, const double* residual,
                                       std::int64_t n, const double* gamma, double epsilon,
                                       double* d_x) noexcept;
void add_layer_norm_factors_reference(const double* x, const double* d_out, std::int64_t n, double epsilon,
                                      double* d_gamma, double* d_beta) noexcept;

}  // namespace attend::kernels
