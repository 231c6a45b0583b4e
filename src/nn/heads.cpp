#include "nn/heads.h"

#include "base/check.h"
#include "nn/linear.h"

namespace attend::detail {
namespace {

void check_given(const char* operation, const NamedView& tensor) {
  require_floats(operation, tensor, 0, kMaxRank);
}

void check_matrix(const char* operation, const NamedView& matrix, const NamedView& bias, std::int64_t rows) {
  check_given(operation, matrix);
  const auto& [name, view] = matrix;
  if (view.rank() != 2) {
    refuse(operation, name, " has shape ", to_string(view.shape()), ", expected (in, out)");
  }
  if (view.size(0) != rows) {
    refuse(operation, name, " has ", view.size(0), " rows, but its input has ", rows, " columns");
  }
  if (bias.view.given()) require_shape(operation, bias, {view.size(1)});
}

void check_input(const char* operation, const NamedView& input, DType dtype) {
  check_given(operation, input);
  const auto& [name, view] = input;
  if (view.rank() != 3) {
    refuse(operation, name, " has shape ", to_string(view.shape()), ", expected (batch, length, columns)");
  }
  if (view.dtype() != dtype) {
    refuse(operation, name, " is ", name_of(view.dtype()), " but x is ", name_of(dtype));
  }
}

Tensor projected(ConstTensorView x, ConstTensorView w, ConstTensorView bias) {
  Tensor out(x.dtype(), {x.size(0), x.size(1), w.size(1)}, x.device());
  linear(x, w, bias, out);
  return out;
}

}  // namespace

std::array<NamedView, 8> named(const MultiHeadWeights& weights) {
  return {{{"wq", weights.wq},
           {"wk", weights.wk},
           {"wv", weights.wv},
           {"wo", weights.wo},
           {"bq", weights.bq},
           {"bk", weights.bk},
           {"bv", weights.bv},
           {"bo", weights.bo}}};
}

HeadSizes check_heads(const char* operation, ConstTensorView x, ConstTensorView context,
                      const MultiHeadWeights& weights, std::int64_t heads) {
  check_input(operation, {"x", x}, x.dtype());
  check_input(operation, {"context", context}, x.dtype());
  if (x.size(0) != context.size(0)) {
    refuse(operation, "context has batch ", context.size(0), ", x has ", x.size(0));
  }
  check_matrix(operation, {"wq", weights.wq}, {"bq", weights.bq}, x.size(2));
  check_matrix(operation, {"wk", weights.wk}, {"bk", weights.bk}, context.size(2));
  check_matrix(operation, {"wv", weights.wv}, {"bv", weights.bv}, context.size(2));

  if (heads < 1 || weights.wq.size(1) % heads != 0 || weights.wq.size(1) == 0) {
    refuse(operation, "wq has ", weights.wq.size(1), " columns, which do not divide into ", heads, " heads");
  }
  const std::int64_t d = weights.wq.size(1) / heads;
  const std::int64_t key_heads = weights.wk.size(1) / d;
  if (weights.wk.size(1) % d != 0 || key_heads == 0 || heads % key_heads != 0) {
    refuse(operation, "wk has ", weights.wk.size(1), " columns: with ", d,
           " to a head, its heads do not divide the ", heads, " of wq");
  }
  if (weights.wv.size(1) % key_heads != 0) {
    refuse(operation, "wv has ", weights.wv.size(1), " columns, which do not divide into the ", key_heads,
           " heads of wk");
  }
  HeadSizes sizes{x.size(0), x.size(1), context.size(1), heads, key_heads, d, weights.wv.size(1) / key_heads,
                  0};
  sizes.columns = sizes.concat();
  if (weights.wo.given()) {
    check_matrix(operation, {"wo", weights.wo}, {"bo", weights.bo}, sizes.concat());
    sizes.columns = weights.wo.size(1);
  } else if (weights.bo.given()) {
    refuse(operation, "bo is given without wo");
  }
  return sizes;
}

void check_one_dtype(const char* operation, ConstTensorView x, const MultiHeadWeights& weights) {
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) {
    refuse(operation, "x is ", name_of(x.dtype()), ", expected f32 or f64");
  }
  for (const NamedView& weight : named(weights)) {
    if (weight.view.given()) require_dtype_of(operation, weight, {"x", x});
  }
}

void refuse_packed(const char* operation, const AttentionOptions& options) {
  if (!options.cumulative_query_lengths.empty() || !options.cumulative_key_lengths.empty()) {
    refuse(operation, "packed sequences are for attention(); here x is (batch, length, columns)");
  }
}

ProjectedHeads project(ConstTensorView x, ConstTensorView context, const MultiHeadWeights& weights,
                       const HeadSizes& sizes) {
  ProjectedHeads heads;
  heads.q_storage = projected(x, weights.wq, weights.bq);
  heads.k_storage = projected(context, weights.wk, weights.bk);
  heads.v_storage = projected(context, weights.wv, weights.bv);
  heads.q = by_head(ConstTensorView(heads.q_storage), sizes.heads);
  heads.k = by_head(ConstTensorView(heads.k_storage), sizes.key_heads);
  heads.v = by_head(ConstTensorView(heads.v_storage), sizes.key_heads);
  return heads;
}

void check_tokens(const char* operation, ConstTensorView x) {
  require_floats(operation, {"x", x}, 2, 2);
  if (x.size(1) == 0) refuse(operation, "x has no columns");
}

}  // namespace attend::detail
