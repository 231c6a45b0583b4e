// What the forward and the backward pass of multi-head attention share: the sizes, and the heads that x and
// context project to.
#pragma once

#include <attend/multi_head.h>

#include <array>

#include "base/check.h"

namespace attend::detail {

// The sizes that the shapes of x, context and the weights agree on.
struct HeadSizes {
  std::int64_t batch, queries, keys;
  std::int64_t heads, key_heads, d, dv;
  std::int64_t columns;  // of the output
  std::int64_t concat() const { return heads * dv; }
};

// The weights with their names, for checks that treat them alike; some may be not given.
std::array<NamedView, 8> named(const MultiHeadWeights& weights);

// Refuses shapes that do not agree, in a sentence that begins with [operation].
HeadSizes check_heads(const char* operation, ConstTensorView x, ConstTensorView context,
                      const MultiHeadWeights& weights, std::int64_t heads);
// Refuses an x that is neither f32 nor f64, and weights of another type.
void check_one_dtype(const char* operation, ConstTensorView x, const MultiHeadWeights& weights);
void refuse_packed(const char* operation, const AttentionOptions& options);

ProjectedHeads project(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                       const HeadSizes& sizes);

// (B, L, H * D) seen as (B, H, L, D)
template <class View>
View by_head(View storage, std::int64_t heads) {
  return storage.split(2, heads, storage.size(2) / heads).transposed(1, 2);
}

// (n, d) as (1, 1, n, d)
inline ConstTensorView one_head(ConstTensorView x) { return x.with_axis(0).with_axis(0); }

// softmax(X X^T) X needs an X (n, d) with d > 0, and has no scale.
void check_tokens(const char* operation, ConstTensorView x);
inline AttentionOptions unscaled() {
  AttentionOptions options;
  options.scale = 1;
  return options;
}

}  // namespace attend::detail
