// Scratch memory for the layers of a pass that keeps nothing: one allocation, cut up.
#pragma once

#include <attend/model_description.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/scratch.h"
#include "model/layer.h"
#include "model/pass_plan.h"

namespace attend::model {

// The most that any layer of a model needs for a row.
struct LayerSizes {
  explicit LayerSizes(const ModelDescription& description) : hidden(description.hidden_size) {
    for (const LayerDescription& layer : description.layers) {
      const std::int64_t q = query_columns(layer.attention), k = key_columns(layer.attention);
      projected = std::max(projected, q + 2 * k);
      attended = std::max(attended, q);
      heads = std::max(heads, layer.attention.heads);
      if (layer.feed_forward) product = std::max(product, product_size(*layer.feed_forward));
      if (layer.norm.place == NormPlace::around || layer.norm.place == NormPlace::inside) branch = hidden;
    }
  }
  std::int64_t hidden, projected = 0, attended = 0, heads = 0, product = 0, branch = 0;
};

class Workspace {
 public:
  Workspace(const ModelDescription& description, std::int64_t tokens)
      : sizes_(description),
        tokens_(tokens),
        scratch_(Scratch::of<float>(tokens * (sizes_.projected + sizes_.attended + 2 * sizes_.hidden +
                                              sizes_.product + 2 * sizes_.heads + sizes_.branch))),
        next_(scratch_.as<float>()) {
    projected_ = take(sizes_.projected);
    attended_ = take(sizes_.attended);
    sum_ = take(sizes_.hidden);
    normed_ = take(sizes_.hidden);
    product_ = take(sizes_.product);
    state_ = {take(sizes_.heads), take(sizes_.heads)};
    if (sizes_.branch > 0) branch_ = take(sizes_.branch);
  }

  // For a layer with queries in `rows` and keys in `keys`: attention reads the whole text, in which the rows
  // that take no part are zeros.
  LayerMemory memory(const LayerDescription& layer, RowRange rows, RowRange keys, TensorView stream,
                     const HeldInBf16& held = {}) {
    const AttentionDescription& attention = layer.attention;
    const std::int64_t q = query_columns(attention), k = key_columns(attention);
    const TensorView all = first_columns(projected_, q + 2 * k, held.projected);
    const TensorView queries = all.slice(1, 0, projected_columns(layer)),
                     context = all.slice(1, q, q + 2 * k);
    if (layer.kind != LayerKind::whole)
      std::memset(projected_.raw(), 0, static_cast<std::size_t>(projected_.count()) * sizeof(float));
    const TensorView attended = first_columns(attended_, q, held.attended);
    LayerMemory memory{.projected = rows.of(queries),
                       .attended = rows.of(attended),
                       .after_attention = stream,
                       .attention_sum = rows.of(sum_),
                       .feed_forward_sum = rows.of(sum_),
                       .heads = head_views(layer, queries, context)};
    if (layer.kind == LayerKind::cross) memory.context = keys.of(context);
    if (layer.feed_forward)
      memory.product = rows.of(first_columns(product_, product_size(*layer.feed_forward), held.inner));
    memory.heads.attended = attended.split(1, attention.heads, attention.head_size);
    memory.heads.state = {first_columns(state_.max, attention.heads),
                          first_columns(state_.sum, attention.heads)};
    return memory;
  }

  LayerRoom room(RowRange rows) const {
    return {.normed = rows.of(normed_), .branch = branch_.given() ? rows.of(branch_) : branch_};
  }

 private:
  TensorView take(std::int64_t columns) {
    return {std::exchange(next_, next_ + tokens_ * columns), Dims{tokens_, columns}};
  }
  // Rows of fewer columns, still side by side; of numbers half as long.
  TensorView first_columns(TensorView view, std::int64_t columns, bool in_bf16 = false) const {
    const Dims shape{tokens_, columns};
    if (in_bf16) return {static_cast<bfloat16*>(view.raw()), shape};
    return {view.data<float>(), shape};
  }

  LayerSizes sizes_;
  std::int64_t tokens_;
  Scratch scratch_;
  float* next_;
  TensorView projected_{}, attended_{}, sum_{}, normed_{}, product_{}, branch_{};
  RowStateView state_{};
};

}  // namespace attend::model
