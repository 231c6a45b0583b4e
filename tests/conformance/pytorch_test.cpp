// attend against PyTorch: outputs, weights, log-sum-exp and gradients that torch itself computed in float64.
#include <attend/reference.h>
#include <attend/softmax.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "conformance/golden_file.h"
#include "conformance/torch_module.h"
#include "support/compare.h"

namespace attend {
namespace {

struct Precision {
  DType dtype;
  double bound;
};
constexpr Precision kPrecisions[] = {{DType::f64, 1e-12}, {DType::f32, 1e-5}};

#define EXPECT_CLOSE(computed, expected, bound) \
  EXPECT_LE(max_abs_difference(computed, expected), bound) << #computed
#define EXPECT_GRADIENT(computed, expected) EXPECT_CLOSE(computed, expected, 1e-11)

// forward(golden, the inputs rounded to a precision, its bound) for each precision of each case, and
// backward(golden).
void for_each_case(const std::string& file,
                   const std::function<void(const GoldenCase&, const GoldenCase&, double)>& forward,
                   const std::function<void(const GoldenCase&)>& backward) {
  const std::vector<GoldenCase> cases = read_golden(ATTEND_GOLDEN_FOLDER "/attention/" + file);
  EXPECT_FALSE(cases.empty());
  for (const GoldenCase& golden : cases) {
    for (const auto& [dtype, bound] : kPrecisions) {
      SCOPED_TRACE(golden.name + " in " + std::string(name_of(dtype)));
      forward(golden, golden.rounded_to(dtype), bound);
    }
    SCOPED_TRACE("gradients of " + golden.name);
    backward(golden);
  }
  std::cout << file << ": " << cases.size() << " cases\n";
}

Tensor log_sum_exp_of(const RowState& state) {
  Tensor result(state.max.dtype(), state.max.shape());
  log_sum_exp(state, result);
  return result;
}

AttentionOptions sdpa_options(const GoldenCase& inputs) {
  AttentionOptions options;
  options.causal = inputs.has("is_causal");
  if (inputs.has("scale")) options.scale = inputs.number("scale");
  if (inputs.has("attn_mask")) {
    const Tensor& mask = inputs.tensor("attn_mask");
    (mask.dtype() == DType::boolean ? options.mask : options.bias) = mask;
  }
  return options;
}

TEST(PyTorch, ScaledDotProductAttention) {
  const auto forward = [](const GoldenCase& golden, const GoldenCase& inputs, double bound) {
    const Tensor &q = inputs.tensor("q"), &k = inputs.tensor("k"), &v = inputs.tensor("v");
    const AttentionOptions options = sdpa_options(inputs);
    Tensor out(q.dtype(), golden.tensor("out").shape());
    RowState state(q);
    attention(q, k, v, options, out, state);
    EXPECT_CLOSE(out, golden.tensor("out"), bound);
    EXPECT_CLOSE(attention_rows(q, k, options, Stage::weights), golden.tensor("weights"), bound);
    EXPECT_CLOSE(log_sum_exp_of(state), golden.tensor("lse"), bound);

    Tensor d_q(q.dtype(), q.shape()), d_k(q.dtype(), k.shape()), d_v(q.dtype(), v.shape());
    attention_backward(q, k, v, options, out, state, inputs.tensor("d_out"), {.q = d_q, .k = d_k, .v = d_v});
    EXPECT_CLOSE(d_q, golden.tensor("d_q"), 3 * bound);
    EXPECT_CLOSE(d_k, golden.tensor("d_k"), 3 * bound);
    EXPECT_CLOSE(d_v, golden.tensor("d_v"), 3 * bound);
  };
  const auto backward = [](const GoldenCase& golden) {
    const Tensor &q = golden.tensor("q"), &k = golden.tensor("k"), &v = golden.tensor("v");
    const AttentionOptions options = sdpa_options(golden);
    Tensor d_q(DType::f64, q.shape()), d_k(DType::f64, k.shape()), d_v(DType::f64, v.shape());
    Tensor d_bias(DType::f64, options.bias.shape());
    AttentionGradients gradients{.q = d_q, .k = d_k, .v = d_v};
    if (options.bias.given()) gradients.bias = d_bias;
    reference::attention_backward(q, k, v, options, golden.tensor("d_out"), gradients);
    EXPECT_GRADIENT(d_q, golden.tensor("d_q"));
    EXPECT_GRADIENT(d_k, golden.tensor("d_k"));
    EXPECT_GRADIENT(d_v, golden.tensor("d_v"));
    if (options.bias.given()) {
      EXPECT_GRADIENT(d_bias, golden.tensor("d_attn_mask"));
    }
  };
  for_each_case("scaled_dot_product_attention.txt", forward, backward);
}

TEST(PyTorch, MultiheadAttention) {
  const auto forward = [](const GoldenCase& golden, const GoldenCase& inputs, double bound) {
    const TorchModule module(inputs);
    Tensor out(module.x().dtype(), golden.tensor("out").shape());
    multi_head_attention(module.x(), module.context(), module.weights(), module.heads(), module.options(),
                         out);
    EXPECT_CLOSE(out, golden.tensor("out"), bound);
    if (!golden.has("weights")) return;
    const ProjectedHeads heads =
        project_heads(module.x(), module.context(), module.weights(), module.heads());
    EXPECT_CLOSE(attention_rows(heads.q, heads.k, module.options(), Stage::weights), golden.tensor("weights"),
                 bound);
  };
  const auto backward = [](const GoldenCase& golden) {
    const TorchModule module(golden);
    const MultiHeadWeights& w = module.weights();
    Tensor d_x(DType::f64, module.x().shape()), d_context(DType::f64, module.context().shape());
    Tensor d_wq(DType::f64, w.wq.shape()), d_wk(DType::f64, w.wk.shape()), d_wv(DType::f64, w.wv.shape());
    Tensor d_wo(DType::f64, w.wo.shape()), d_bq(DType::f64, {w.wq.size(1)}), d_bk(DType::f64, {w.wk.size(1)});
    Tensor d_bv(DType::f64, {w.wv.size(1)}), d_bo(DType::f64, {w.wo.size(1)});
    reference::multi_head_attention_backward(module.x(), module.context(), w, module.heads(),
                                             module.options(), golden.tensor("d_out"),
                                             {.x = d_x,
                                              .context = d_context,
                                              .wq = d_wq,
                                              .wk = d_wk,
                                              .wv = d_wv,
                                              .wo = d_wo,
                                              .bq = d_bq,
                                              .bk = d_bk,
                                              .bv = d_bv,
                                              .bo = d_bo});
    if (!golden.has("key")) {  // self-attention: x is the context, too
      std::ranges::transform(d_x.values<double>(), d_context.values<double>(), d_x.values<double>().begin(),
                             std::plus());
    } else {
      EXPECT_GRADIENT(module.key_columns(d_context, 2), golden.tensor("d_key"));
      if (golden.has("value")) {
        EXPECT_GRADIENT(module.value_columns(d_context, 2), golden.tensor("d_value"));
      }
    }
    EXPECT_GRADIENT(d_x, golden.tensor("d_x"));
    EXPECT_GRADIENT(d_wq, TorchModule::projection(golden, "d_", 'q'));
    EXPECT_GRADIENT(module.key_columns(d_wk, 0), TorchModule::projection(golden, "d_", 'k'));
    EXPECT_GRADIENT(module.value_columns(d_wv, 0), TorchModule::projection(golden, "d_", 'v'));
    EXPECT_GRADIENT(d_wo, golden.tensor("d_out_proj.weight").view().transposed(0, 1));
    if (!golden.has("in_proj_bias")) return;
    EXPECT_GRADIENT(d_bq, TorchModule::projection_bias(golden, "d_", 'q'));
    EXPECT_GRADIENT(d_bk, TorchModule::projection_bias(golden, "d_", 'k'));
    EXPECT_GRADIENT(d_bv, TorchModule::projection_bias(golden, "d_", 'v'));
    EXPECT_GRADIENT(d_bo, golden.tensor("d_out_proj.bias"));
  };
  for_each_case("multihead_attention.txt", forward, backward);
}

TEST(PyTorch, SoftmaxAndLogSumExp) {
  const auto forward = [](const GoldenCase& golden, const GoldenCase& inputs, double bound) {
    const Tensor& x = inputs.tensor("x");
    Tensor out(x.dtype(), x.shape());
    softmax(x, out);
    EXPECT_CLOSE(out, golden.tensor("out"), bound);

    // Queries of zeros and x as the bias: the row state is that of the rows of x.
    const std::int64_t n = x.size(x.rank() - 1), rows = x.count() / n;
    const Tensor q(x.dtype(), {1, 1, rows, 1}), k(x.dtype(), {1, 1, n, 1});
    AttentionOptions options;
    options.bias = ConstTensorView(x.view().raw(), x.dtype(), {rows, n}, {n, 1});
    RowState state(q);
    Tensor unused(x.dtype(), {1, 1, rows, 1});
    attention(q, k, k, options, unused, state);
    const std::vector<double> computed = values_of(log_sum_exp_of(state)),
                              expected = values_of(golden.tensor("lse"));
    ASSERT_EQ(computed.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(difference(computed[i], expected[i]), bound * std::max(1.0, std::abs(expected[i])));
    }
  };
  const auto backward = [](const GoldenCase& golden) {
    Tensor d_x(DType::f64, golden.tensor("x").shape());
    reference::softmax_backward(golden.tensor("out"), golden.tensor("d_out"), d_x);
    EXPECT_GRADIENT(d_x, golden.tensor("d_x"));
  };
  for_each_case("softmax.txt", forward, backward);
}

TEST(PyTorch, AMissingOrDamagedFileIsAnError) {
  EXPECT_THROW(read_golden(ATTEND_GOLDEN_FOLDER "/attention/no_such_file.txt"), std::runtime_error);
  EXPECT_THROW(read_golden(__FILE__), std::runtime_error);
  const GoldenCase empty;
  EXPECT_THROW(empty.tensor("out"), std::runtime_error);
  EXPECT_THROW(empty.number("scale"), std::runtime_error);
}

}  // namespace
}  // namespace attend
