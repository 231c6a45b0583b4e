#include "model/layer_backward.h"

#include <attend/attention_backward.h>
#include <attend/dropout.h>
#include <attend/positions.h>

#include <algorithm>

#include "nn/linear_gradient.h"

namespace attend::model {
namespace {

ConstTensorView rows_if_given(ConstTensorView view, std::int64_t first, std::int64_t last) {
  return view.given() ? view.slice(0, first, last) : view;
}

}  // namespace

const LayerGradients& LayerBackward::learned() const {
  static const LayerGradients kNobodyLearns;
  return gradients != nullptr ? *gradients : kNobodyLearns;
}

void LayerBackward::through_linear(const LinearWeights& weights, const LinearGradients& sums,
                                   ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                                   ConstTensorView residual) const {
  if (gradients != nullptr) add_linear_gradient(x, d_out, sums.weight, sums.bias, room.sums, room.as);
  weights.matrix.multiply_transposed(d_out, d_x, {.residual = residual});
}

void LayerBackward::backward(ConstTensorView x, ConstTensorView source, TensorView d,
                             TensorView d_source) const {
  const LayerMemory& memory = run.memory;
  const LayerWeights& weights = run.weights;
  const LayerGradients& sums = learned();
  ConstTensorView d_out = d;
  if (run.layer.feed_forward) {
    const bool parallel = run.layer.feed_forward->parallel;
    if (parallel) {
      copy(d, room.d_after);
      d_out = room.d_after;
    }
    through_part(reads_norm(run.layer.norm.place), weights.feed_forward_norm, sums.feed_forward_norm,
                 weights.feed_forward_out_norm, sums.feed_forward_out_norm, run.dropout.feed_forward_stream,
                 parallel ? x : ConstTensorView(memory.after_attention), memory.feed_forward_sum, d_out, d,
                 [&](ConstTensorView read, ConstTensorView d_part, TensorView d_read,
                     ConstTensorView residual) { through_feed_forward(read, d_part, d_read, residual); });
  }
  through_part(
      reads_norm(run.layer.norm.place) && run.layer.attention_norm, weights.attention_norm,
      sums.attention_norm, weights.attention_out_norm, sums.attention_out_norm, run.dropout.attention_stream,
      x, memory.attention_sum, d_out, d,
      [&](ConstTensorView read, ConstTensorView d_part, TensorView d_read, ConstTensorView residual) {
        through_attention(read, source, d_part, d_read, residual, d_source);
      });
}

// d: the gradient of out = x + part, which becomes that of x. d_out: a copy of the gradient of out, or d
// itself. part(read, d_part, d_read, residual): d_read = its gradient + residual; d_read may be residual or
// d_part.
template <class Part>
void LayerBackward::through_part(bool reads_its_norm, const NormWeights& norm,
                                 const NormGradients& norm_gradients, const NormWeights& out_norm,
                                 const NormGradients& out_norm_gradients, std::uint64_t stream,
                                 ConstTensorView x, ConstTensorView sum, ConstTensorView d_out, TensorView d,
                                 const Part& part) const {
  const NormDescription& description = run.layer.norm;
  const NormPlace place = description.place;
  if (place == NormPlace::after)
    normalise_backward(description, norm, sum, d, d, {}, norm_gradients, room.factors);
  ConstTensorView d_part = d_out;
  if (run.dropout.probability > 0) {
    attend::dropout(d_part,
                    {.probability = run.dropout.probability, .seed = run.dropout.seed, .stream = stream},
                    run.room.branch);
    d_part = run.room.branch;
  }
  if (place == NormPlace::around || place == NormPlace::inside) {
    const bool inside = place == NormPlace::inside;
    normalise_backward(description, inside ? norm : out_norm, sum, d_part, run.room.branch, {},
                       inside ? norm_gradients : out_norm_gradients, room.factors);
    d_part = run.room.branch;
  }
  if (!reads_its_norm) return part(x, d_part, d, d);
  ConstTensorView read;
  if (gradients != nullptr) {  // only the gradients of weights need what the part read
    normalise(description, norm, x, run.room.normed);
    read = run.room.normed;
  }
  part(read, d_part, room.d_read, ConstTensorView());
  normalise_backward(description, norm, x, room.d_read, d, d, norm_gradients, room.factors);
}

void LayerBackward::through_attention(ConstTensorView read, ConstTensorView source, ConstTensorView d_out,
                                      TensorView d_read, ConstTensorView residual,
                                      TensorView d_source) const {
  const LayerWeights& weights = run.weights;
  const LayerGradients& sums = learned();
  const HeadViews &heads = run.memory.heads, &d_heads = room.d_heads;
  through_linear(weights.out, sums.out, run.memory.attended, d_out, room.d_attended);
  attention_backward(heads.q, heads.k, heads.v, run.options, heads.attended,
                     {heads.state.max, heads.state.sum}, d_heads.attended,
                     {.q = d_heads.q, .k = d_heads.k, .v = d_heads.v});
  if (run.cosines.given()) {
    for (const TensorView& view : rotating_views(run.layer, d_heads, room.d_projected))
      apply_rotary_tables(view, run.cosines, run.sines, run.layer.attention.rotary.pairing, view, true);
  }
  through_head_norms();
  through_linear(weights.projected, sums.projected, read, room.d_projected, d_read, residual);
  if (run.layer.kind == LayerKind::cross)
    through_linear(weights.context, sums.context, source, room.d_context, d_source, d_source);
}

void LayerBackward::through_head_norms() const {
  const AttentionDescription& attention = run.layer.attention;
  if (attention.query_key_norm == QueryKeyNorm::none) return;
  const std::int64_t q = query_columns(attention), k = key_columns(attention);
  const auto back = [&](const NormWeights& norm, const NormGradients& sums, std::int64_t first,
                        std::int64_t columns) {
    const auto part = [&](TensorView rows) {
      const TensorView cut = rows.slice(1, first, first + columns);
      return attention.query_key_norm == QueryKeyNorm::heads
                 ? cut.split(1, columns / attention.head_size, attention.head_size)
                 : cut;
    };
    const TensorView d = part(room.d_projected);
    normalise_backward(run.layer.norm, norm, part(run.memory.unnormed), d, d, {}, sums, room.factors);
  };
  back(run.weights.query_norm, learned().query_norm, 0, q);
  if (run.layer.kind != LayerKind::cross) back(run.weights.key_norm, learned().key_norm, q, k);
}

// Activations are recomputed from their inputs: a third less to keep, for one more pass over them.
void LayerBackward::through_feed_forward(ConstTensorView read, ConstTensorView d_out, TensorView d_read,
                                         ConstTensorView residual) const {
  const FeedForwardDescription& part = *run.layer.feed_forward;
  const LayerGradients& sums = learned();
  const std::int64_t rows = d_out.size(0);
  for (std::int64_t first = 0; first < rows; first += LayerRun::kActivatedRows) {
    const std::int64_t last = std::min(rows, first + LayerRun::kActivatedRows), count = last - first;
    const TensorView product = run.memory.product.slice(0, first, last);
    const TensorView activated = run.room.activated.slice(0, 0, count);
    const TensorView d_product = room.d_product.slice(0, 0, count);
    const TensorView d_activated = part.gated ? room.d_activated.slice(0, 0, count) : d_product;
    if (gradients != nullptr) activate(part, product, activated);
    through_linear(run.weights.down, sums.down, activated, d_out.slice(0, first, last), d_activated);
    activate_backward(part, product, d_activated, d_product);
    through_linear(run.weights.up, sums.up, rows_if_given(read, first, last), d_product,
                   d_read.slice(0, first, last), rows_if_given(residual, first, last));
  }
}

}  // namespace attend::model
