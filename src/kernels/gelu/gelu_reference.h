// Activations of one number in float64, as the formulas have them: what the f32 kernels are judged by.
#pragma once

#include <attend/activation.h>

namespace attend::kernels {

double activation_reference(double x, Activation activation) noexcept;

// Its derivative at x; at infinity the limit.
double activation_slope_reference(double x, Activation activation) noexcept;

}  // namespace attend::kernels
