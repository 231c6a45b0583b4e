#include "kernels/gelu/gelu_reference.h"

#include <cmath>
#include <numbers>

namespace attend::kernels {

double activation_reference(double x, Activation activation) noexcept {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::gelu:
      // erfc, not 1 + erf, which is 0 from -8.4 on.
      return x * std::erfc(-x / std::numbers::sqrt2) / 2;
    case Activation::gelu_tanh: {
      const double z = std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x);
      return x / (1 + std::exp(-2 * z));  // x (1 + tanh z) / 2, without its cancellation
    }
    case Activation::relu:
      return x < 0 ? 0 : x;
  }
  return x;
}

}  // namespace attend::kernels
