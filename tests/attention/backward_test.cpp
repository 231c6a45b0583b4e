// The backward formulas against finite differences, for every combination of options, in float64.
#include <attend/reference.h>
#include <gtest/gtest.h>

#include "support/arbitrary_case.h"
#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"

namespace attend {
namespace {

// Small enough that every element can be moved; a bound for values near 1.
AttentionCase small_case() {
  AttentionCase c = arbitrary_case(DType::f64, 5);
  c.d = 1 + c.d % 4;
  c.dv = 1 + c.dv % 4;
  c.batch = 1 + c.batch % 2;
  c.key_heads = 1 + c.key_heads % 2;
  c.group = 1 + c.group % 2;
  c.dropout = *rc::gen::arbitrary<bool>();
  c.memory = CaseMemory::row_major;  // the storage is moved, so it must be the view
  return c;
}

constexpr double kBound = 1e-9;

TEST(Backward, EveryGradientAgreesWithFiniteDifferences) {
  EXPECT_PROPERTY("q, k, v, bias, slopes and sinks", [] {
    const AttentionCase c = small_case();
    RC_LOG(describe(c));
    AttentionInputs in = make_inputs(c);
    AttentionOptions& options = in.options;
    const Tensor d_out = random_normal(in.output_shape(), DType::f64, c.seed + 20);
    const auto loss = [&] {
      Tensor out = in.output(DType::f64);
      reference::attention(in.q, in.k, in.v, options, out);
      return inner_product(out, d_out);
    };

    Tensor d_q(DType::f64, in.q.shape()), d_k(DType::f64, in.k.shape()), d_v(DType::f64, in.v.shape());
    Tensor d_bias(DType::f64, in.bias_storage.shape());
    Tensor d_slopes(DType::f64, {c.query_heads()}), d_sinks(DType::f64, {c.query_heads()});
    AttentionGradients gradients{.q = d_q, .k = d_k, .v = d_v};
    if (options.bias.given()) gradients.bias = d_bias;
    if (c.alibi) gradients.alibi_slopes = d_slopes;
    if (c.sinks) gradients.sinks = d_sinks;
    reference::attention_backward(in.q, in.k, in.v, options, d_out, gradients);

    RC_ASSERT(max_abs_difference(d_q, finite_difference(in.q_storage, loss)) <= kBound);
    RC_ASSERT(max_abs_difference(d_k, finite_difference(in.k_storage, loss)) <= kBound);
    RC_ASSERT(max_abs_difference(d_v, finite_difference(in.v_storage, loss)) <= kBound);
    // -inf + step is -inf, and so is the bias there: its gradient is 0 on both sides.
    if (options.bias.given()) {
      RC_ASSERT(max_abs_difference(d_bias, finite_difference(in.bias_storage, loss)) <= kBound);
    }
    const auto numbers = [&](std::vector<double>& values, const Tensor& gradient) {
      Tensor moved = Tensor::from<double>({c.query_heads()}, values);
      const Tensor expected = finite_difference(moved, [&] {
        const auto now = moved.values<double>();
        values.assign(now.begin(), now.end());
        return loss();
      });
      values.assign(moved.values<double>().begin(), moved.values<double>().end());
      RC_ASSERT(max_abs_difference(gradient, expected) <= kBound);
    };
    if (c.alibi) numbers(options.alibi_slopes, d_slopes);
    if (c.sinks) numbers(options.sinks, d_sinks);
  });
}

TEST(Backward, GradientsAreWrittenIntoAnyTypeAndStride) {
  AttentionCase c;
  c.memory = CaseMemory::heads_inside;
  const AttentionInputs in = make_inputs(c);
  const Tensor d_out = random_normal(in.output_shape(), DType::f32, 5);
  Tensor expected(DType::f64, in.q.shape());
  reference::attention_backward(in.q, in.k, in.v, in.options, d_out, {.q = expected});

  Tensor storage = random_normal({1, 4, 1, 8}, DType::f32, 7);  // old contents are overwritten
  reference::attention_backward(in.q, in.k, in.v, in.options, d_out, {.q = storage.view().transposed(1, 2)});
  EXPECT_LE(max_abs_difference(storage.view().transposed(1, 2), expected), 1e-6);
}

}  // namespace
}  // namespace attend
