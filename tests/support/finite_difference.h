// Gradients by trying: what the formulas of a backward pass are checked against.
#pragma once

#include <attend/tensor.h>

#include <cstddef>
#include <span>

#include "support/compare.h"

namespace attend {

// sum(a * b): the loss whose gradient with respect to `a` is `b`, so one number tests a whole output.
inline double inner_product(ConstTensorView a, ConstTensorView b) {
  const std::vector<double> left = values_of(a), right = values_of(b);
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right.at(i);
  return sum;
}

// The gradient of loss() with respect to every element of x (f64), which loss() reads and which is left as it
// was. Five-point central differences: with a step of 1e-3 and values near 1 the rounding (1e-16 / step) and
// the truncation (step^4) are both near 1e-12, where two points would stop at 1e-10.
template <class Loss>
Tensor finite_difference(Tensor& x, Loss loss, double step = 1e-3) {
  Tensor gradient(DType::f64, x.shape());
  const std::span<double> values = x.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double before = values[i];
    const auto at = [&](double steps) {
      values[i] = before + steps * step;
      return loss();
    };
    const double near = at(1) - at(-1);
    const double far = at(2) - at(-2);
    gradient.values<double>()[i] = (8 * near - far) / (12 * step);
    values[i] = before;
  }
  return gradient;
}

}  // namespace attend
