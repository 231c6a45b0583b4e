// The float64 backward pass of the forms of attention that start from token vectors.
#include <attend/reference.h>

#include "nn/heads.h"
#include "nn/linear.h"

namespace attend {
namespace {

void add_to(Tensor& sum, const Tensor& other) {
  const auto values = other.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) sum.values<double>()[i] += values[i];
}

}  // namespace

void reference::self_attention_backward(ConstTensorView x, ConstTensorView d_output, TensorView d_x) {
  const char* const operation = "reference::self_attention_backward";
  require_matrix(operation, "x", x);
  require_matrix(operation, "d_output", d_output);
  Tensor d_q(DType::f64, {1, 1, x.size(0), x.size(1)});
  Tensor d_k(DType::f64, d_q.shape()), d_v(DType::f64, d_q.shape());
  attention_backward(one_head(x), one_head(x), one_head(x), unscaled(), one_head(d_output),
                     {.q = d_q, .k = d_k, .v = d_v});
  add_to(d_q, d_k);
  add_to(d_q, d_v);
  copy(d_q.view().select(0, 0).select(0, 0), d_x);
}

void reference::multi_head_attention_backward(ConstTensorView x, ConstTensorView context,
                                              const MultiHeadWeights& weights, std::int64_t heads,
                                              const AttentionOptions& options, ConstTensorView d_out,
                                              const MultiHeadGradients& gradients) {
  const char* const operation = "reference::multi_head_attention_backward";
  refuse_packed(operation, options);
  const HeadSizes sizes = check_heads(operation, x, context, weights, heads);

  // Everything in float64 from here on.
  const auto wide = [](ConstTensorView view) { return view.given() ? copy_of(view, DType::f64) : Tensor(); };
  const auto seen = [](const Tensor& tensor, ConstTensorView original) {
    return original.given() ? ConstTensorView(tensor) : ConstTensorView();
  };
  const Tensor x64 = wide(x), context64 = wide(context), d_out64 = wide(d_out);
  const Tensor wq = wide(weights.wq), wk = wide(weights.wk), wv = wide(weights.wv), wo = wide(weights.wo);
  const Tensor bq = wide(weights.bq), bk = wide(weights.bk), bv = wide(weights.bv);
  const MultiHeadWeights weights64{.wq = wq,
                                   .wk = wk,
                                   .wv = wv,
                                   .bq = seen(bq, weights.bq),
                                   .bk = seen(bk, weights.bk),
                                   .bv = seen(bv, weights.bv)};
  const ProjectedHeads forward = project(x64, context64, weights64, sizes);

  Tensor d_concat(DType::f64, {sizes.batch, sizes.queries, sizes.concat()});
  if (weights.wo.given()) {
    Tensor concat(DType::f64, d_concat.shape());
    attend::attention(forward.q, forward.k, forward.v, options, by_head(concat.view(), heads));
    linear_backward(concat, wo, d_out64, d_concat, gradients.wo, gradients.bo);
  } else {
    copy(d_out64, d_concat);
  }

  Tensor d_q(DType::f64, forward.q_storage.shape()), d_k(DType::f64, forward.k_storage.shape()),
      d_v(DType::f64, forward.v_storage.shape());
  AttentionGradients inner = gradients.attention;
  inner.q = by_head(d_q.view(), sizes.heads);
  inner.k = by_head(d_k.view(), sizes.key_heads);
  inner.v = by_head(d_v.view(), sizes.key_heads);
  attention_backward(forward.q, forward.k, forward.v, options, by_head(ConstTensorView(d_concat), heads),
                     inner);

  Tensor d_context(DType::f64, context.shape()), d_context_v(DType::f64, context.shape());
  linear_backward(x64, wq, d_q, gradients.x, gradients.wq, gradients.bq);
  linear_backward(context64, wk, d_k, d_context, gradients.wk, gradients.bk);
  linear_backward(context64, wv, d_v, d_context_v, gradients.wv, gradients.bv);
  if (!gradients.context.given()) return;
  add_to(d_context, d_context_v);
  copy(d_context, gradients.context);
}

}  // namespace attend
