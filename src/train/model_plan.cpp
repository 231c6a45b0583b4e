// The memory of a model that learns, planned once.
#include <algorithm>

#include "nn/gru.h"
#include "nn/linear_gradient.h"
#include "train/model.h"
#include "train/model_memory.h"

namespace attend::train {

void Model::plan_stack(LayerStack& stack, std::int64_t rows) {
  const std::int64_t e = description_.hidden_size;
  if (description_.embedding_norm) arena_.want(stack.embedded, {rows, e});
  arena_.want(stack.entering, {rows, e});
  if (is_recurrent()) return;
  for (std::int64_t i = stack.first; i < stack.last; ++i) {
    if (description_.layers[static_cast<std::size_t>(i)].feed_forward)
      arena_.want(views_[static_cast<std::size_t>(i)].out, {rows, e});
  }
  if (options_.recompute) return;
  for (std::int64_t i = stack.first; i < stack.last; ++i) plan_inside(i, rows);
}

// Everything but what leaves a block.
void Model::plan_inside(std::int64_t index, std::int64_t rows) {
  const std::int64_t e = description_.hidden_size;
  const LayerDescription& layer = description_.layers[static_cast<std::size_t>(index)];
  const AttentionDescription& attention = layer.attention;
  const std::int64_t q = model::query_columns(attention), k = model::key_columns(attention);
  const bool keeps_sums = layer.norm.place != NormPlace::before;
  LayerViews& views = views_[static_cast<std::size_t>(index)];
  arena_.want(views.projected, {rows, model::projected_columns(layer)});
  if (layer.kind == LayerKind::cross) arena_.want(views.context, {rows, 2 * k});
  if (attention.query_key_norm != QueryKeyNorm::none) arena_.want(views.unnormed, {rows, q + k});
  arena_.want(views.attended, {rows, q});
  arena_.want(views.max, {rows * attention.heads});
  arena_.want(views.sum, {rows * attention.heads});
  if (keeps_sums) arena_.want(views.attention_sum, {rows, e});
  if (!layer.feed_forward) return arena_.want(views.out, {rows, e});
  arena_.want(views.after_attention, {rows, e});
  arena_.want(views.product, {rows, model::product_size(*layer.feed_forward)});
  if (keeps_sums) arena_.want(views.feed_forward_sum, {rows, e});
}

void Model::plan() {
  const std::int64_t e = description_.hidden_size, rows = options_.sequences * description_.max_tokens();
  if (source_) plan_stack(*source_, rows);
  plan_stack(tokens_, rows);
  for (GruLayer& layer : recurrent_) layer.plan(arena_, rows);
  if (options_.recompute) {
    // Only one block is in memory at a time.
    const std::int64_t mark = arena_.mark();
    for (std::int64_t i = 0; i < description_.layer_count(); ++i) {
      const bool begins =
          i == 0 || description_.layers[static_cast<std::size_t>(i) - 1].feed_forward.has_value();
      if (begins) arena_.rewind(mark);
      plan_inside(i, rows);
    }
    arena_.keep_all();
  }
  if (description_.final_norm) arena_.want(tokens_.leaving, {rows, e});
  if (source_) {
    if (description_.final_norm) arena_.want(source_->leaving, {rows, e});
    arena_.want(d_memory_, {rows, e});
  }
  arena_.want(d_, {rows, e});
  plan_room(rows);
}

void Model::plan_packed_weights() {
  for (const LayerPlaces& layer : places_.layers) {
    for (const LinearPlaces& part : {layer.projected, layer.context, layer.out, layer.up, layer.down})
      if (part.weight >= 0) packed_.add(parameters_, part.weight, false, arena_);
  }
  if (!options_.guesses) return;
  description_.tied_output ? packed_.add(parameters_, places_.words, true, arena_)
                           : packed_.add(parameters_, places_.output, false, arena_);
}

void Model::plan_room(std::int64_t rows) {
  const std::int64_t e = description_.hidden_size;
  const RoomSizes sizes(description_, options_);
  if (room_.as == PackedAs::bf16) plan_packed_weights();
  if (parameters_.dtype() == DType::f32) {
    arena_.want(room_.packed, {sizes.packed});
    arena_.want(room_.sums, {sizes.sums});
  }
  arena_.want(room_.factors, {2, sizes.factors});
  // The head's scratch memory is free before a block runs, and that of one part of a block before the next.
  const std::int64_t mark = arena_.mark();
  if (options_.guesses) {
    const std::int64_t some = std::min(rows, logit_rows(description_.vocabulary_size));
    arena_.want(picked_, {some, e});
    arena_.want(logits_, {some, description_.vocabulary_size});
  }
  arena_.rewind(mark);
  if (is_recurrent()) return GruLayer::plan_work(arena_, room_, options_.sequences, rows, e);
  arena_.want(room_.normed, {rows, e});
  arena_.want(room_.d_read, {rows, e});
  if (options_.dropout > 0) arena_.want(room_.branch, {rows, e});
  if (sizes.parallel) arena_.want(room_.d_after, {rows, e});
  const std::int64_t parts = arena_.mark();
  arena_.want(room_.d_attended, {rows, sizes.attended});
  arena_.want(room_.d_projected, {rows, sizes.projected});
  if (source_) arena_.want(room_.d_context, {rows, sizes.context});
  arena_.rewind(parts);
  const std::int64_t together = std::min(rows, model::LayerRun::kActivatedRows);
  arena_.want(room_.activated, {together, sizes.inner});
  arena_.want(room_.d_product, {together, sizes.product});
  if (sizes.gated) arena_.want(room_.d_activated, {together, sizes.inner});
}

}  // namespace attend::train
