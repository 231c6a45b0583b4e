#include "model/layer_math.h"

#include <attend/gelu.h>
#include <attend/layer_norm.h>
#include <attend/rms_norm.h>
#include <attend/swiglu.h>

namespace attend {
namespace {

// Of whole f32 tensors, row-major.
void relu(ConstTensorView x, TensorView out) {
  const float* const from = x.data<float>();
  float* const to = out.data<float>();
  for (std::int64_t i = 0; i < element_count(x.shape()); ++i) to[i] = from[i] < 0 ? 0 : from[i];
}

void relu_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x) {
  const float* const from = x.data<float>();
  const float* const d = d_out.data<float>();
  float* const to = d_x.data<float>();
  for (std::int64_t i = 0; i < element_count(x.shape()); ++i) to[i] = from[i] > 0 ? d[i] : 0;
}

template <class View>
View half(View wide, std::int64_t which) {
  const std::int64_t inner = wide.size(1) / 2;
  return wide.slice(1, which * inner, (which + 1) * inner);
}

}  // namespace

void normalise(const ModelConfig& config, const NormLayer& norm, ConstTensorView x, TensorView out) {
  if (config.norm == NormKind::rms) return rms_norm(x, norm.gamma, config.layer_norm_eps, out);
  layer_norm(x, norm.gamma, norm.beta, config.layer_norm_eps, out);
}

void normalise_backward(const ModelConfig& config, const NormLayer& norm, ConstTensorView x,
                        ConstTensorView d_out, TensorView d_x, ConstTensorView residual) {
  if (config.norm == NormKind::rms)
    return rms_norm_backward(x, norm.gamma, config.layer_norm_eps, d_out, {.x = d_x}, residual);
  layer_norm_backward(x, norm.gamma, config.layer_norm_eps, d_out, {.x = d_x}, residual);
}

std::int64_t wide_size(const ModelConfig& config) {
  return (config.gated ? 2 : 1) * config.intermediate_size;
}

void activate(const ModelConfig& config, ConstTensorView wide, TensorView out) {
  if (config.gated) return swiglu(half(wide, 0), half(wide, 1), out);
  switch (config.activation) {
    case Activation::none:
      return copy(wide, out);
    case Activation::gelu:
      return gelu(wide, out);
    case Activation::gelu_tanh:
      return gelu_tanh(wide, out);
    case Activation::relu:
      return relu(wide, out);
  }
}

void activate_backward(const ModelConfig& config, ConstTensorView wide, ConstTensorView d_out,
                       TensorView d_wide) {
  if (config.gated)
    return swiglu_backward(half(wide, 0), half(wide, 1), d_out, half(d_wide, 0), half(d_wide, 1));
  switch (config.activation) {
    case Activation::none:
      return copy(d_out, d_wide);
    case Activation::gelu:
      return gelu_backward(wide, d_out, d_wide);
    case Activation::gelu_tanh:
      return gelu_tanh_backward(wide, d_out, d_wide);
    case Activation::relu:
      return relu_backward(wide, d_out, d_wide);
  }
}

}  // namespace attend
