#include "model/layer_gradient.h"

#include <attend/attention_backward.h>

#include <initializer_list>

#include "model/layer_math.h"

namespace attend {

LayerGradient::LayerGradient(const ModelConfig& config, const PassPlan& plan, std::int64_t tokens)
    : config_(config), plan_(plan) {
  const std::int64_t e = config.hidden_size;
  for (Tensor* const tensor : {&middle_, &normed_, &end_, &d_read_})
    *tensor = Tensor(DType::f32, {tokens, e});
  for (Tensor* const tensor : {&inner_, &d_inner_})
    *tensor = Tensor(DType::f32, {tokens, config.intermediate_size});
  before_ = Tensor(DType::f32, {tokens, wide_size(config)});
  if (config.gated) d_wide_ = Tensor(DType::f32, {tokens, wide_size(config)});
  d_qkv_ = Tensor(DType::f32, {tokens, 3 * e});
}

LayerGradient::Mine LayerGradient::rows_of(const RowRange& rows, const KeptLayer& kept, TensorView d) {
  const ConstTensorView attended(kept.attended.values<float>().data(), kept.hidden.shape());
  return {.hidden = rows.of(kept.hidden.view()),
          .attended = rows.of(attended),
          .d = rows.of(d),
          .middle = rows.of(middle_.view()),
          .normed = rows.of(normed_.view()),
          .end = rows.of(end_.view()),
          .before = rows.of(before_.view()),
          .inner = rows.of(inner_.view()),
          .d_inner = rows.of(d_inner_.view()),
          // Without a gate the two have one size, and are one.
          .d_wide = rows.of(config_.gated ? d_wide_.view() : d_inner_.view()),
          .d_read = rows.of(d_read_.view())};
}

void LayerGradient::run_again(const TransformerLayer& layer, const Mine& mine, bool to_the_end) const {
  const bool norm_first = config_.norm_first;
  matmul(mine.attended, layer.out.matrix, mine.middle, {.bias = layer.out.bias, .residual = mine.hidden});
  if (!layer.has_feed_forward()) return;
  normalise(config_, norm_first ? layer.output_norm : layer.attention_norm, mine.middle, mine.normed);
  matmul(mine.normed, layer.up.matrix, mine.before, {.bias = layer.up.bias});
  if (!to_the_end) return;
  activate(config_, mine.before, mine.inner);
  matmul(mine.inner, layer.down.matrix, mine.end,
         {.bias = layer.down.bias, .residual = norm_first ? mine.middle : mine.normed});
}

// d_wide: the gradient of what stands before the activation.
void LayerGradient::back_to_wide(const TransposedLayer& transposed, const Mine& mine) const {
  matmul(mine.d, transposed.down, mine.d_inner);
  activate_backward(config_, mine.before, mine.d_inner, mine.d_wide);
}

// d: the gradient of the sum behind attention. d_qkv: that of queries, keys and values, as they were before
// they were turned.
void LayerGradient::back_through_attention(LayerKind kind, const TransposedLayer& transposed,
                                           const KeptLayer& kept, ConstTensorView d, TensorView d_attended) {
  const std::int64_t e = config_.hidden_size, size = e / config_.heads;
  const RowRange rows = plan_.queries(kind);
  matmul(d, transposed.out, rows.of(TensorView(d_attended.data<float>(), kept.hidden.shape())));
  const auto part = [&](std::int64_t which) {
    return d_qkv_.view().slice(1, which * e, (which + 1) * e).split(1, config_.heads, size);
  };
  attention_backward(kept.q, kept.k, kept.v, plan_.options(kind), kept.attended, kept.row_state, d_attended,
                     {.q = part(0), .k = part(1), .v = part(2)});
  if (kind == LayerKind::cross) return;
  plan_.turn(part(0), rows, true);
  plan_.turn(part(1), rows, true);
}

void LayerGradient::back_to_what_was_read(LayerKind kind, const TransposedLayer& transposed, TensorView d_x,
                                          ConstTensorView residual, TensorView d_source) {
  const std::int64_t e = config_.hidden_size;
  const ConstTensorView d_mine = plan_.queries(kind).of(d_qkv_.view());
  if (kind != LayerKind::cross) return matmul(d_mine, transposed.qkv, d_x, {.residual = residual});
  matmul(d_mine.slice(1, 0, e), transposed.qkv, d_x, {.residual = residual});
  matmul(plan_.keys(kind).of(d_qkv_.view()).slice(1, e, 3 * e), transposed.context, d_source,
         {.residual = d_source});
}

void LayerGradient::go_back(LayerKind kind, const TransformerLayer& layer, const TransposedLayer& transposed,
                            const NormLayer* norm_behind, const KeptLayer& kept, TensorView d,
                            TensorView d_attended) {
  const Mine mine = rows_of(plan_.queries(kind), kept, d);
  const TensorView d_source = plan_.keys(kind).of(d);
  const bool feeds = layer.has_feed_forward();
  run_again(layer, mine, !config_.norm_first || norm_behind != nullptr);
  if (norm_behind != nullptr) normalise_backward(config_, *norm_behind, mine.end, mine.d, mine.d);
  if (config_.norm_first) {
    // Each part reads the norm of what it adds to.
    if (feeds) {
      back_to_wide(transposed, mine);
      matmul(mine.d_wide, transposed.up, mine.d_read);
      normalise_backward(config_, layer.output_norm, mine.middle, mine.d_read, mine.d, mine.d);
    }
    back_through_attention(kind, transposed, kept, mine.d, d_attended);
    back_to_what_was_read(kind, transposed, mine.d_read, {}, d_source);
    normalise_backward(config_, layer.attention_norm, mine.hidden, mine.d_read, mine.d, mine.d);
  } else {
    // The norm stands behind each sum.
    if (feeds) {
      normalise_backward(config_, layer.output_norm, mine.end, mine.d, mine.d);
      back_to_wide(transposed, mine);
      matmul(mine.d_wide, transposed.up, mine.d, {.residual = mine.d});
    }
    normalise_backward(config_, layer.attention_norm, mine.middle, mine.d, mine.d);
    back_through_attention(kind, transposed, kept, mine.d, d_attended);
    back_to_what_was_read(kind, transposed, mine.d, mine.d, d_source);
  }
}

}  // namespace attend
