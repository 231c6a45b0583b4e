#include "model/layer_math.h"

#include <attend/add.h>
#include <attend/gelu.h>
#include <attend/layer_norm.h>
#include <attend/relu.h>
#include <attend/rms_norm.h>
#include <attend/swiglu.h>

#include "base/error.h"
#include "base/rows.h"

namespace attend::model {
namespace {

// out = a b, element by element, of (rows, n); out may be either.
template <class T>
void multiply_rows(ConstTensorView a, ConstTensorView b, TensorView out) {
  const std::int64_t n = out.size(1);
  const T* const left = a.data<T>();
  const T* const right = b.data<T>();
  T* const to = out.data<T>();
  for_each_row(out.size(0), n, [&](std::int64_t row, int) noexcept {
    const T* const x = left + row * a.stride(0);
    const T* const y = right + row * b.stride(0);
    T* const result = to + row * out.stride(0);
    for (std::int64_t j = 0; j < n; ++j) result[j] = x[j] * y[j];
  });
}
void multiply(ConstTensorView a, ConstTensorView b, TensorView out) {
  out.dtype() == DType::f32 ? multiply_rows<float>(a, b, out) : multiply_rows<double>(a, b, out);
}

template <class View>
View half(View product, std::int64_t which) {
  const std::int64_t size = product.size(1) / 2;
  return product.slice(1, which * size, (which + 1) * size);
}

void apply_activation(Activation activation, ConstTensorView x, TensorView out) {
  switch (activation) {
    case Activation::none:
      return x.raw() == out.raw() ? void() : copy(x, out);
    case Activation::gelu:
      return gelu(x, out);
    case Activation::gelu_tanh:
      return gelu_tanh(x, out);
    case Activation::relu:
      return relu(x, out);
    case Activation::silu:
      refuse("model", "silu is the activation of a gate");
  }
}

void apply_slope(Activation activation, ConstTensorView x, ConstTensorView d_out, TensorView d_x) {
  switch (activation) {
    case Activation::none:
      return d_out.raw() == d_x.raw() ? void() : copy(d_out, d_x);
    case Activation::gelu:
      return gelu_backward(x, d_out, d_x);
    case Activation::gelu_tanh:
      return gelu_tanh_backward(x, d_out, d_x);
    case Activation::relu:
      return relu_backward(x, d_out, d_x);
    case Activation::silu:
      refuse("model", "silu is the activation of a gate");
  }
}

void grow(TensorView gradient, ConstTensorView found) {
  const TensorView sum = gradient.with_axis(0);
  add(sum, found.with_axis(0), sum);
}

}  // namespace

void normalise(const NormDescription& norm, const NormWeights& weights, ConstTensorView x, TensorView out) {
  if (norm.kind == NormKind::rms) return rms_norm(x, weights.gamma, norm.epsilon, out);
  layer_norm(x, weights.gamma, weights.beta, norm.epsilon, out);
}

void normalise_backward(const NormDescription& norm, const NormWeights& weights, ConstTensorView x,
                        ConstTensorView d_out, TensorView d_x, ConstTensorView residual,
                        const NormGradients& gradients, TensorView room) {
  const bool learns = gradients.gamma.given();
  const std::int64_t n = x.size(x.rank() - 1);
  const TensorView d_gamma = learns ? room.select(0, 0).slice(0, 0, n) : TensorView();
  const TensorView d_beta = learns ? room.select(0, 1).slice(0, 0, n) : TensorView();
  if (norm.kind == NormKind::rms) {
    rms_norm_backward(x, weights.gamma, norm.epsilon, d_out, {.x = d_x, .gamma = d_gamma}, residual);
  } else {
    layer_norm_backward(x, weights.gamma, norm.epsilon, d_out, {.x = d_x, .gamma = d_gamma, .beta = d_beta},
                        residual);
    if (gradients.beta.given()) grow(gradients.beta, d_beta);
  }
  if (learns) grow(gradients.gamma, d_gamma);
}

std::int64_t product_size(const FeedForwardDescription& part) { return (part.gated ? 2 : 1) * part.size; }

void activate(const FeedForwardDescription& part, ConstTensorView product, TensorView out) {
  if (!part.gated) return apply_activation(part.activation, product, out);
  if (part.activation == Activation::silu) return swiglu(half(product, 0), half(product, 1), out);
  apply_activation(part.activation, half(product, 0), out);
  multiply(out, half(product, 1), out);
}

void activate_backward(const FeedForwardDescription& part, ConstTensorView product, ConstTensorView d_out,
                       TensorView d_product) {
  if (!part.gated) return apply_slope(part.activation, product, d_out, d_product);
  const ConstTensorView gate = half(product, 0), up = half(product, 1);
  const TensorView d_gate = half(d_product, 0), d_up = half(d_product, 1);
  if (part.activation == Activation::silu) return swiglu_backward(gate, up, d_out, d_gate, d_up);
  multiply(d_out, up, d_up);  // the gradient of the activated gate, for a moment
  apply_slope(part.activation, gate, d_up, d_gate);
  apply_activation(part.activation, gate, d_up);
  multiply(d_up, d_out, d_up);
}

}  // namespace attend::model
