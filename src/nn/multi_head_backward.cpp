// The backward pass of the forms of attention that start from token vectors: by the fast kernels, and in
// float64.
#include <attend/add.h>
#include <attend/reference.h>

#include <utility>
#include <vector>

#include "nn/heads.h"
#include "nn/linear.h"
#include "nn/linear_gradient.h"

namespace attend {
namespace {

// Calls visit(name, gradient) for each that is wanted.
template <class Visit>
void each_gradient(const MultiHeadGradients& gradients, const Visit& visit) {
  const std::pair<const char*, TensorView> all[] = {{"d_x", gradients.x},   {"d_context", gradients.context},
                                                    {"d_wq", gradients.wq}, {"d_wk", gradients.wk},
                                                    {"d_wv", gradients.wv}, {"d_wo", gradients.wo},
                                                    {"d_bq", gradients.bq}, {"d_bk", gradients.bk},
                                                    {"d_bv", gradients.bv}, {"d_bo", gradients.bo}};
  for (const auto& [name, gradient] : all) {
    if (gradient.given()) visit(name, gradient);
  }
}

// Each gradient that is wanted has room of its own, of the right shape: looked at before anything is written.
void check_gradients(const char* operation, ConstTensorView x, ConstTensorView context,
                     const MultiHeadWeights& weights, const MultiHeadGradients& gradients) {
  std::vector<NamedView> seen;
  const auto check = [&](const char* name, TensorView gradient, const Dims& shape) {
    if (!gradient.given()) return;
    require_shape(operation, {name, gradient}, shape);
    require_writable(operation, {name, gradient}, {});
    for (const NamedView& other : seen) require_writable(operation, {name, gradient}, {other});
    seen.push_back({name, gradient});
  };
  check("d_x", gradients.x, x.shape());
  check("d_context", gradients.context, context.shape());
  check("d_wq", gradients.wq, weights.wq.shape());
  check("d_wk", gradients.wk, weights.wk.shape());
  check("d_wv", gradients.wv, weights.wv.shape());
  check("d_bq", gradients.bq, {weights.wq.size(1)});
  check("d_bk", gradients.bk, {weights.wk.size(1)});
  check("d_bv", gradients.bv, {weights.wv.size(1)});
  if (weights.wo.given()) {
    check("d_wo", gradients.wo, weights.wo.shape());
    check("d_bo", gradients.bo, {weights.wo.size(1)});
    return;
  }
  if (gradients.wo.given()) refuse(operation, "a gradient of wo without wo");
  if (gradients.bo.given()) refuse(operation, "a gradient of bo without wo");
}

}  // namespace

void multi_head_attention_backward(ConstTensorView x, ConstTensorView context,
                                   const MultiHeadWeights& weights, std::int64_t heads,
                                   const AttentionOptions& options, ConstTensorView d_out,
                                   const MultiHeadGradients& gradients) {
  const char* const operation = "multi_head_attention_backward";
  refuse_packed(operation, options);
  const HeadSizes sizes = check_heads(operation, x, context, weights, heads);
  check_one_dtype(operation, x, weights);
  require_shape(operation, {"d_out", d_out}, {sizes.batch, sizes.queries, sizes.columns});
  require_dtype_of(operation, {"d_out", d_out}, {"x", x});
  check_gradients(operation, x, context, weights, gradients);
  each_gradient(gradients, [&](const char* name, TensorView gradient) {
    require_dtype_of(operation, {name, gradient}, {"x", x});
    require_writable(operation, {name, gradient}, {{"x", x}, {"context", context}, {"d_out", d_out}});
    for (const NamedView& weight : named(weights)) require_writable(operation, {name, gradient}, {weight});
  });
  const DType dtype = x.dtype();
  const ProjectedHeads forward = project(x, context, weights, sizes);

  const Device device = x.device();
  Tensor concat(dtype, {sizes.batch, sizes.queries, sizes.concat()}, device),
      d_concat(dtype, concat.shape(), device);
  RowState state(forward.q);
  attention(forward.q, forward.k, forward.v, options, by_head(concat.view(), heads), state);
  if (weights.wo.given()) {
    linear_gradients(concat, weights.wo, d_out, d_concat, gradients.wo, gradients.bo);
  } else {
    copy(d_out, d_concat);
  }

  Tensor d_q(dtype, forward.q_storage.shape(), device), d_k(dtype, forward.k_storage.shape(), device),
      d_v(dtype, forward.v_storage.shape(), device);
  AttentionGradients inner = gradients.attention;
  inner.q = by_head(d_q.view(), sizes.heads);
  inner.k = by_head(d_k.view(), sizes.key_heads);
  inner.v = by_head(d_v.view(), sizes.key_heads);
  attention_backward(forward.q, forward.k, forward.v, options, by_head(ConstTensorView(concat), heads), state,
                     by_head(ConstTensorView(d_concat), heads), inner);

  linear_gradients(x, weights.wq, d_q, gradients.x, gradients.wq, gradients.bq);
  Tensor d_context, d_context_v;
  if (gradients.context.given()) {
    d_context = Tensor(dtype, context.shape(), device);
    d_context_v = Tensor(dtype, context.shape(), device);
  }
  const auto wanted = [&](Tensor& part) { return gradients.context.given() ? part.view() : TensorView(); };
  linear_gradients(context, weights.wk, d_k, wanted(d_context), gradients.wk, gradients.bk);
  linear_gradients(context, weights.wv, d_v, wanted(d_context_v), gradients.wv, gradients.bv);
  if (!gradients.context.given()) return;
  add(d_context, d_context_v, d_context);
  copy(d_context, gradients.context);
}

void reference::self_attention_backward(ConstTensorView x, ConstTensorView d_output, TensorView d_x) {
  const char* const operation = "reference::self_attention_backward";
  check_tokens(operation, x);
  require_shape(operation, {"d_output", d_output}, x.shape());
  require_shape(operation, {"d_x", d_x}, x.shape());
  require_writable(operation, {"d_x", d_x}, {});
  Tensor d_q(DType::f64, {1, 1, x.size(0), x.size(1)});
  Tensor d_k(DType::f64, d_q.shape()), d_v(DType::f64, d_q.shape());
  attention_backward(one_head(x), one_head(x), one_head(x), unscaled(), one_head(d_output),
                     {.q = d_q, .k = d_k, .v = d_v});
  add(d_q, d_k, d_q);
  add(d_q, d_v, d_q);
  copy(d_q.view().select(0, 0).select(0, 0), d_x);
}

void reference::multi_head_attention_backward(ConstTensorView x, ConstTensorView context,
                                              const MultiHeadWeights& weights, std::int64_t heads,
                                              const AttentionOptions& options, ConstTensorView d_out,
                                              const MultiHeadGradients& gradients) {
  const char* const operation = "reference::multi_head_attention_backward";
  refuse_packed(operation, options);
  const HeadSizes sizes = check_heads(operation, x, context, weights, heads);
  require_shape(operation, {"d_out", d_out}, {sizes.batch, sizes.queries, sizes.columns});
  check_gradients(operation, x, context, weights, gradients);

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
  add(d_context, d_context_v, d_context);
  copy(d_context, gradients.context);
}

}  // namespace attend
