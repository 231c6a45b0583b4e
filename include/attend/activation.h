// The activation functions that may follow a layer's product.
#pragma once

#include <cstdint>

namespace attend {

// GELU is x Phi(x), Phi being the normal distribution function: `gelu` by the error function, `gelu_tanh` by
// its approximation with a hyperbolic tangent (Hendrycks and Gimpel 2016), which some models were trained
// with. `relu` is x where that is not negative, else 0; NaN stays NaN. `silu` is x sigmoid(x).
enum class Activation : std::uint8_t { none, gelu, gelu_tanh, relu, silu };

}  // namespace attend
