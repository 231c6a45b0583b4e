// Multi-head attention and its two simpler forms, composed of linear layers and attention().
#include <attend/multi_head.h>

#include "attention/layout.h"
#include "nn/heads.h"
#include "nn/linear.h"

namespace attend {
namespace {

// Output and weights of one head, whose whole matrix the caller wants.
AttentionResult shown(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                      const AttentionOptions& options) {
  const Tensor output = attention(q, k, v, options), weights = attention_rows(q, k, options, Stage::weights);
  return {copy_of(output.view().select(0, 0).select(0, 0)),
          copy_of(weights.view().select(0, 0).select(0, 0))};
}

void check_outputs(const char* operation, ConstTensorView x, ConstTensorView context,
                   const MultiHeadWeights& weights, const HeadSizes& sizes, TensorView out,
                   RowStateView row_state) {
  require_shape(operation, {"out", out}, {sizes.batch, sizes.queries, sizes.columns});
  require_dtype_of(operation, {"out", out}, {"x", x});
  require_writable(operation, {"out", out}, {{"x", x}, {"context", context}});
  const Dims state{sizes.batch, sizes.heads, sizes.queries};
  check_row_state(operation, row_state, state, {{"x", x}, {"context", context}, {"out", out}});
  for (const NamedView& weight : named(weights)) {
    require_writable(operation, {"out", out}, {weight});
    check_row_state(operation, row_state, state, {weight});
  }
}

}  // namespace

AttentionResult self_attention(ConstTensorView x) {
  check_tokens("self_attention", x);
  return shown(one_head(x), one_head(x), one_head(x), unscaled());
}

AttentionResult single_head_attention(ConstTensorView x, ConstTensorView wq, ConstTensorView wk,
                                      ConstTensorView wv, const AttentionOptions& options) {
  const char* const operation = "single_head_attention";
  require_floats(operation, {"x", x}, 2, 2);
  refuse_packed(operation, options);
  const MultiHeadWeights weights{.wq = wq, .wk = wk, .wv = wv};
  const HeadSizes sizes = check_heads(operation, x.with_axis(0), x.with_axis(0), weights, 1);
  check_one_dtype(operation, x, weights);
  const ProjectedHeads heads = project(x.with_axis(0), x.with_axis(0), weights, sizes);
  return shown(heads.q, heads.k, heads.v, options);
}

ProjectedHeads project_heads(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                             std::int64_t heads) {
  const HeadSizes sizes = check_heads("project_heads", x, context, weights, heads);
  check_one_dtype("project_heads", x, weights);
  return project(x, context, weights, sizes);
}

void multi_head_attention(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                          std::int64_t heads, const AttentionOptions& options, TensorView out,
                          RowStateView row_state) {
  const char* const operation = "multi_head_attention";
  refuse_packed(operation, options);
  const HeadSizes sizes = check_heads(operation, x, context, weights, heads);
  check_one_dtype(operation, x, weights);
  check_outputs(operation, x, context, weights, sizes, out, row_state);
  const ProjectedHeads projected_heads = project(x, context, weights, sizes);
  if (!weights.wo.given()) {
    attention(projected_heads.q, projected_heads.k, projected_heads.v, options, by_head(out, heads),
              row_state);
    return;
  }
  // Heads are written where concatenation puts them, so that concatenating costs nothing.
  Tensor concat(x.dtype(), {sizes.batch, sizes.queries, sizes.concat()}, x.device());
  attention(projected_heads.q, projected_heads.k, projected_heads.v, options, by_head(concat.view(), heads),
            row_state);
  linear(concat, weights.wo, weights.bo, out);
}

}  // namespace attend
