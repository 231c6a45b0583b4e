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
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

double activation_slope_reference(double x, Activation activation) noexcept {
  const bool far = std::abs(x) > 40;  // the second term of both is 0 there, and infinity times 0 must not be
  switch (activation) {
    case Activation::none:
      return 1;
    case Activation::gelu: {
      const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      return std::erfc(-x / std::numbers::sqrt2) / 2 + (far ? 0 : x * density);
    }
    case Activation::gelu_tanh: {
      const double root = std::sqrt(2 * std::numbers::inv_pi);
      const double z = root * (x + 0.044715 * x * x * x), slope = root * (1 + 3 * 0.044715 * x * x);
      const double share = 1 / (1 + std::exp(-2 * z)), rest = 1 / (1 + std::exp(2 * z));
      return share + (far ? 0 : 2 * x * share * rest * slope);
    }
    case Activation::relu:
      return x > 0 ? 1 : 0;
    case Activation::silu: {
      const double share = 1 / (1 + std::exp(-x)), rest = 1 / (1 + std::exp(x));
      return share * (1 + (far ? 0 : x * rest));
    }
  }
  return 1;
}

}  // namespace attend::kernels
