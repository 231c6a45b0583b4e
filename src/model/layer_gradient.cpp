#include "model/layer_gradient.h"

#include <attend/attention_backward.h>
#include <attend/gelu.h>
#include <attend/layer_norm.h>

namespace attend {
namespace {

// Of whole f32 tensors, row-major.
void relu(ConstTensorView x, TensorView out) {
  const float* const from = x.data<float>();
  float* const to = out.data<float>();
  for (std::int64_t i = 0; i < element_count(x.shape()); ++i) to[i] = from[i] < 0 ? 0 : from[i];
}

void relu_backward(ConstTensorView x, TensorView d) {
  const float* const from = x.data<float>();
  float* const to = d.data<float>();
  for (std::int64_t i = 0; i < element_count(x.shape()); ++i) to[i] = from[i] > 0 ? to[i] : 0;
}

void activate(Activation activation, ConstTensorView x, TensorView out) {
  switch (activation) {
    case Activation::none:
      return copy(x, out);
    case Activation::gelu:
      return gelu(x, out);
    case Activation::gelu_tanh:
      return gelu_tanh(x, out);
    case Activation::relu:
      return relu(x, out);
  }
}

// d: the gradient behind the activation becomes that before it, x.
void activate_backward(Activation activation, ConstTensorView x, TensorView d) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::gelu:
      return gelu_backward(x, d, d);
    case Activation::gelu_tanh:
      return gelu_tanh_backward(x, d, d);
    case Activation::relu:
      return relu_backward(x, d);
  }
}

}  // namespace

LayerGradient::LayerGradient(const ModelConfig& config, const AttentionOptions& options, std::int64_t tokens)
    : config_(config), options_(options) {
  const std::int64_t e = config.hidden_size, inner = config.intermediate_size;
  for (Tensor* const tensor : {&middle_, &normed_, &end_, &d_read_})
    *tensor = Tensor(DType::f32, {tokens, e});
  for (Tensor* const tensor : {&before_, &inner_, &d_inner_}) *tensor = Tensor(DType::f32, {tokens, inner});
  d_qkv_ = Tensor(DType::f32, {tokens, 3 * e});
}

void LayerGradient::run_again(const TransformerLayer& layer, const KeptLayer& kept, bool to_the_end) {
  const bool norm_first = config_.norm_first;
  const NormLayer& norm = norm_first ? layer.output_norm : layer.attention_norm;
  const Dims rows{kept.hidden.size(0), config_.hidden_size};
  matmul(ConstTensorView(kept.attended.values<float>().data(), rows), layer.out.matrix, middle_,
         {.bias = layer.out.bias, .residual = kept.hidden});
  layer_norm(middle_, norm.gamma, norm.beta, config_.layer_norm_eps, normed_);
  matmul(normed_, layer.up.matrix, before_, {.bias = layer.up.bias});
  if (!to_the_end) return;
  activate(config_.activation, before_, inner_);
  matmul(inner_, layer.down.matrix, end_,
         {.bias = layer.down.bias, .residual = norm_first ? middle_ : normed_});
}

// d_inner: the gradient of what stands before the activation.
void LayerGradient::back_to_inner(const TransposedLayer& transposed, ConstTensorView d) {
  matmul(d, transposed.down, d_inner_);
  activate_backward(config_.activation, before_, d_inner_);
}

// d: the gradient of the sum behind attention. d_qkv: that of queries, keys and values.
void LayerGradient::back_through_attention(const TransposedLayer& transposed, const KeptLayer& kept,
                                           ConstTensorView d, TensorView d_attended) {
  const std::int64_t e = config_.hidden_size, size = e / config_.heads;
  matmul(d, transposed.out, TensorView(d_attended.data<float>(), {d.size(0), e}));
  const auto part = [&](std::int64_t which) {
    return d_qkv_.view().slice(1, which * e, (which + 1) * e).split(1, config_.heads, size);
  };
  attention_backward(kept.q, kept.k, kept.v, options_, kept.attended, kept.row_state, d_attended,
                     {.q = part(0), .k = part(1), .v = part(2)});
}

void LayerGradient::go_back(const TransformerLayer& layer, const TransposedLayer& transposed,
                            const NormLayer* final_norm, const KeptLayer& kept, TensorView d,
                            TensorView d_attended) {
  const double epsilon = config_.layer_norm_eps;
  run_again(layer, kept, !config_.norm_first || final_norm != nullptr);
  if (final_norm != nullptr) layer_norm_backward(end_, final_norm->gamma, epsilon, d, {.x = d});
  if (config_.norm_first) {
    // Each part reads the norm of what it adds to.
    back_to_inner(transposed, d);
    matmul(d_inner_, transposed.up, d_read_);
    layer_norm_backward(middle_, layer.output_norm.gamma, epsilon, d_read_, {.x = d}, d);
    back_through_attention(transposed, kept, d, d_attended);
    matmul(d_qkv_, transposed.qkv, d_read_);
    layer_norm_backward(kept.hidden, layer.attention_norm.gamma, epsilon, d_read_, {.x = d}, d);
  } else {
    // The norm stands behind each sum.
    layer_norm_backward(end_, layer.output_norm.gamma, epsilon, d, {.x = d});
    back_to_inner(transposed, d);
    matmul(d_inner_, transposed.up, d, {.residual = d});
    layer_norm_backward(middle_, layer.attention_norm.gamma, epsilon, d, {.x = d});
    back_through_attention(transposed, kept, d, d_attended);
    matmul(d_qkv_, transposed.qkv, d, {.residual = d});
  }
}

}  // namespace attend
