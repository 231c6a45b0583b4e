// The forward pass, readable in one sitting.
#include "model/layer.h"

#include <attend/add.h>
#include <attend/dropout.h>
#include <attend/positions.h>

#include <algorithm>

namespace attend::model {
namespace {

// (rows, heads, size) as a cache of one sequence has it: (1, heads, rows, size).
template <class View>
View as_sequence(View heads) {
  return heads.transposed(0, 1).with_axis(0);
}

// Rows of an optional view.
ConstTensorView some_rows(ConstTensorView view, std::int64_t first, std::int64_t last) {
  return view.given() ? view.slice(0, first, last) : view;
}

}  // namespace

HeadViews head_views(const LayerDescription& layer, TensorView projected, TensorView context) {
  const AttentionDescription& attention = layer.attention;
  const std::int64_t q = query_columns(attention), k = key_columns(attention);
  const auto heads = [&](TensorView rows, std::int64_t first, std::int64_t count) {
    return rows.slice(1, first, first + count * attention.head_size).split(1, count, attention.head_size);
  };
  const bool cross = layer.kind == LayerKind::cross;
  const TensorView both = cross ? context : projected;
  const std::int64_t first_key = cross ? 0 : q;
  HeadViews views{.q = heads(projected, 0, attention.heads)};
  if (!both.given()) return views;
  views.k = heads(both, first_key, attention.key_heads);
  views.v = heads(both, first_key + k, attention.key_heads);
  return views;
}

HeldInBf16 held_in_bf16(const LayerDescription& layer, const LayerWeights& weights,
                        const AttentionOptions& options, const HeadViews& heads) {
  HeldInBf16 held;
  const AttentionDescription& attention = layer.attention;
  // Norms and rotary positions come between the product and attention, in f32.
  held.projected = layer.kind == LayerKind::whole && attention.query_key_norm == QueryKeyNorm::none &&
                   attention.positions != PositionKind::rotary && options.precision == Precision::bf16 &&
                   attention_kernel(heads.q, heads.k, options).rounds_to_bf16;
  held.attended = held.projected && weights.out.matrix.rounds_rows();
  held.inner = layer.feed_forward && !layer.feed_forward->gated && weights.down.matrix.rounds_rows();
  return held;
}

std::array<TensorView, 2> rotating_views(const LayerDescription& layer, const HeadViews& heads,
                                         TensorView projected) {
  if (heads.q.rank() == 4) return {heads.q, heads.k};
  const HeadViews own = head_views(layer, projected, {});
  return {own.q.transposed(0, 1), own.k.transposed(0, 1)};
}

// What a part reads from the stream.
ConstTensorView LayerRun::read(const NormWeights& norm, ConstTensorView x) const {
  if (!reads_norm(layer.norm.place)) return x;
  normalise(layer.norm, norm, x, room.normed);
  return room.normed;
}

void LayerRun::project(ConstTensorView x) const {
  weights.projected.apply(layer.attention_norm ? read(weights.attention_norm, x) : x, memory.projected);
}

void LayerRun::attend(ConstTensorView x, ConstTensorView source) const {
  project(x);
  if (source.given()) weights.context.apply(source, memory.context);
  normalise_heads();
  rotate();
  const HeadViews& heads = memory.heads;
  if (!cached.empty()) {
    for (const CachedRows& text : cached) {
      const auto own = [&](TensorView view) { return as_sequence(view.slice(0, text.first, text.last)); };
      if (layer.kind != LayerKind::cross) text.cache->append(own(heads.k), own(heads.v));
      text.cache->attention(own(heads.q), text.options, own(heads.attended));
    }
  } else if (share != nullptr) {
    share->attention(as_sequence(heads.q), as_sequence(heads.k), as_sequence(heads.v), options,
                     as_sequence(heads.attended));
  } else {
    attention(heads.q, heads.k, heads.v, options, heads.attended, heads.state);
  }
  if (after_attention) after_attention();
}

void LayerRun::finish(ConstTensorView x, TensorView out) const {
  const bool feeds = layer.feed_forward.has_value(), parallel = feeds && layer.feed_forward->parallel;
  const TensorView after = feeds ? memory.after_attention : out;
  // A parallel part reads the original stream, which out may overwrite.
  const ConstTensorView beside = parallel ? read(weights.feed_forward_norm, x) : ConstTensorView();
  add_part(
      layer.norm.place == NormPlace::around ? weights.attention_out_norm : weights.attention_norm,
      dropout.attention_stream, x, memory.attention_sum, after,
      [&](TensorView to, ConstTensorView residual) { weights.out.apply(memory.attended, to, residual); });
  if (!feeds) return;
  const ConstTensorView input = parallel ? beside : read(weights.feed_forward_norm, after);
  if (!out.given()) return weights.up.apply(input, memory.product);
  add_part(layer.norm.place == NormPlace::around ? weights.feed_forward_out_norm : weights.feed_forward_norm,
           dropout.feed_forward_stream, after, memory.feed_forward_sum, out,
           [&](TensorView to, ConstTensorView residual) { feed_forward(input, to, residual); });
}

// out = x + part, with the norm in its place; part(to, residual): to = the part + residual.
template <class Part>
void LayerRun::add_part(const NormWeights& norm, std::uint64_t stream, ConstTensorView x, TensorView sum,
                        TensorView out, const Part& part) const {
  const NormPlace place = layer.norm.place;
  const bool of_sum = place == NormPlace::after,
             of_part = place == NormPlace::around || place == NormPlace::inside;
  const TensorView total = of_sum ? sum : out;
  if (dropout.probability == 0 && !of_part) {
    part(total, x);
  } else {
    part(of_part ? sum : room.branch, ConstTensorView());
    if (of_part) normalise(layer.norm, norm, sum, room.branch);
    if (dropout.probability > 0) {
      attend::dropout(room.branch,
                      {.probability = dropout.probability, .seed = dropout.seed, .stream = stream},
                      room.branch);
    }
    add(x, room.branch, total);
  }
  if (of_sum) normalise(layer.norm, norm, sum, out);
}

void LayerRun::normalise_heads() const {
  const AttentionDescription& attention = layer.attention;
  if (attention.query_key_norm == QueryKeyNorm::none) return;
  const std::int64_t q = query_columns(attention), k = key_columns(attention);
  if (keep) copy(memory.projected.slice(1, 0, q + k), memory.unnormed);
  const auto normalise_part = [&](const NormWeights& norm, std::int64_t first, std::int64_t columns) {
    TensorView part = memory.projected.slice(1, first, first + columns);
    if (attention.query_key_norm == QueryKeyNorm::heads)
      part = part.split(1, columns / attention.head_size, attention.head_size);
    normalise(layer.norm, norm, part, part);
  };
  normalise_part(weights.query_norm, 0, q);
  if (layer.kind != LayerKind::cross) normalise_part(weights.key_norm, q, k);
}

void LayerRun::rotate() const {
  if (!cosines.given()) return;
  for (const TensorView& view : rotating_views(layer, memory.heads, memory.projected))
    apply_rotary_tables(view, cosines, sines, layer.attention.rotary.pairing, view);
}

void LayerRun::feed_forward(ConstTensorView x, TensorView out, ConstTensorView residual) const {
  const FeedForwardDescription& part = *layer.feed_forward;
  const TensorView product = memory.product;
  if (!keep) {
    const TensorView inner = product.slice(1, 0, part.size);
    weights.up.apply(x, product, {}, part.gated ? Activation::none : part.activation);
    if (part.gated) activate(part, product, inner);
    return weights.down.apply(inner, out, residual);
  }
  const std::int64_t rows = x.size(0);
  weights.up.apply(x, product);
  for (std::int64_t first = 0; first < rows; first += kActivatedRows) {
    const std::int64_t last = std::min(rows, first + kActivatedRows);
    const TensorView activated = room.activated.slice(0, 0, last - first);
    activate(part, product.slice(0, first, last), activated);
    weights.down.apply(activated, out.slice(0, first, last), some_rows(residual, first, last));
  }
}

}  // namespace attend::model
