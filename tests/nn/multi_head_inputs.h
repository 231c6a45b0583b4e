// A multi-head attention call with every part filled in, for the tests of its forward and its backward pass.
#pragma once

#include <attend/multi_head.h>

#include "support/random.h"

namespace attend {

struct MultiHeadSizes {
  std::int64_t batch = 2, queries = 4, keys = 5;
  std::int64_t heads = 4, key_heads = 2, d = 3, dv = 2;
  std::int64_t eq = 5, ek = 6, eo = 7;
};

// Half a unit wide weights keep the scores near 1.
struct MultiHeadInputs {
  explicit MultiHeadInputs(DType dtype, const MultiHeadSizes& size = {})
      : sizes(size),
        x(random_normal({size.batch, size.queries, size.eq}, dtype, 1)),
        context(random_normal({size.batch, size.keys, size.ek}, dtype, 2)),
        wq(random_normal({size.eq, size.heads * size.d}, dtype, 3, 0.5)),
        wk(random_normal({size.ek, size.key_heads * size.d}, dtype, 4, 0.5)),
        wv(random_normal({size.ek, size.key_heads * size.dv}, dtype, 5, 0.5)),
        wo(random_normal({size.heads * size.dv, size.eo}, dtype, 6, 0.5)),
        bq(random_normal({size.heads * size.d}, dtype, 7, 0.5)),
        bk(random_normal({size.key_heads * size.d}, dtype, 8, 0.5)),
        bv(random_normal({size.key_heads * size.dv}, dtype, 9, 0.5)),
        bo(random_normal({size.eo}, dtype, 10, 0.5)) {}

  MultiHeadWeights weights() const {
    return {.wq = wq, .wk = wk, .wv = wv, .wo = wo, .bq = bq, .bk = bk, .bv = bv, .bo = bo};
  }
  Dims output_shape() const { return {sizes.batch, sizes.queries, sizes.eo}; }
  Dims concat_shape() const { return {sizes.batch, sizes.queries, sizes.heads * sizes.dv}; }

  MultiHeadSizes sizes;
  Tensor x, context, wq, wk, wv, wo, bq, bk, bv, bo;
};

// multi_head_attention() into a new tensor.
inline Tensor multi_head_of(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                            std::int64_t heads, const AttentionOptions& options = {}) {
  const std::int64_t key_heads = weights.wk.size(1) / (weights.wq.size(1) / heads);
  const std::int64_t columns =
      weights.wo.given() ? weights.wo.size(1) : weights.wv.size(1) / key_heads * heads;
  Tensor out(x.dtype(), {x.size(0), x.size(1), columns});
  multi_head_attention(x, context, weights, heads, options, out);
  return out;
}

}  // namespace attend
