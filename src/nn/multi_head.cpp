// Multi-head attention and its two small sisters, composed of linear layers and attention().
#include <attend/multi_head.h>

#include "base/error.h"
#include "nn/heads.h"
#include "nn/linear.h"

namespace attend {
namespace {

// Output and weights of one head, whose whole matrix the caller wants.
AttentionResult shown(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                      const AttentionOptions& options) {
  return {copy_of(attention(q, k, v, options).view().select(0, 0).select(0, 0)),
          copy_of(attention_rows(q, k, options, Stage::weights).view().select(0, 0).select(0, 0))};
}

}  // namespace

AttentionResult self_attention(ConstTensorView x) {
  require_matrix("self_attention", "x", x);
  return shown(one_head(x), one_head(x), one_head(x), unscaled());
}

AttentionResult single_head_attention(ConstTensorView x, ConstTensorView wq, ConstTensorView wk,
                                      ConstTensorView wv, const AttentionOptions& options) {
  const char* const operation = "single_head_attention";
  require_matrix(operation, "x", x);
  refuse_packed(operation, options);
  const MultiHeadWeights weights{.wq = wq, .wk = wk, .wv = wv};
  const HeadSizes sizes = check_heads(operation, x.with_axis(0), x.with_axis(0), weights, 1);
  const ProjectedHeads heads = project(x.with_axis(0), x.with_axis(0), weights, sizes);
  return shown(heads.q, heads.k, heads.v, options);
}

ProjectedHeads project_heads(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                             std::int64_t heads) {
  return project(x, context, weights, check_heads("project_heads", x, context, weights, heads));
}

void multi_head_attention(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                          std::int64_t heads, const AttentionOptions& options, TensorView out,
                          RowStateView row_state) {
  const char* const operation = "multi_head_attention";
  refuse_packed(operation, options);
  const HeadSizes sizes = check_heads(operation, x, context, weights, heads);
  const Dims shape{sizes.batch, sizes.queries, weights.wo.given() ? weights.wo.size(1) : sizes.concat()};
  if (!out.given() || out.shape() != shape) {
    refuse(operation, "out has shape ", to_string(out.shape()), ", expected ", to_string(shape));
  }
  const ProjectedHeads projected_heads = project(x, context, weights, sizes);
  if (!weights.wo.given()) {
    attention(projected_heads.q, projected_heads.k, projected_heads.v, options, by_head(out, heads),
              row_state);
    return;
  }
  // Heads are written where concatenation puts them, so that concatenating costs nothing.
  Tensor concat(x.dtype(), {sizes.batch, sizes.queries, sizes.concat()});
  attention(projected_heads.q, projected_heads.k, projected_heads.v, options, by_head(concat.view(), heads),
            row_state);
  linear(concat, weights.wo, weights.bo, out);
}

}  // namespace attend
