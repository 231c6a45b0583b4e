// The two small forms: softmax(X X^T) X, and one head with its projections.
#include <attend/multi_head.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "nn/linear.h"
#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

// The four tokens of the worked example.
Tensor four_tokens(DType dtype) {
  return copy_of(Tensor::from<double>({4, 3}, {1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1}), dtype);
}

TEST(SelfAttention, TheWorkedExample) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto [output, weights] = self_attention(four_tokens(dtype));
    EXPECT_EQ(output.dtype(), dtype);
    EXPECT_EQ(weights.dtype(), dtype);
    ASSERT_EQ(output.shape(), (Dims{4, 3}));
    ASSERT_EQ(weights.shape(), (Dims{4, 4}));
    EXPECT_LT(max_abs_difference(weights.view().select(0, 0),
                                 Tensor::from<double>({4}, {0.475367, 0.174878, 0.174878, 0.174878})),
              5e-7);
    EXPECT_LT(
        max_abs_difference(output.view().select(0, 1), Tensor::from<double>({3}, {0.7311, 0.7311, 0.4656})),
        5e-5);
  }
}

TEST(SelfAttention, IsAttentionOfXToItselfWithoutAScale) {
  const Tensor x = random_normal({7, 5}, DType::f64, 1);
  const ConstTensorView head = x.view().with_axis(0).with_axis(0);
  AttentionOptions options;
  options.scale = 1;
  const auto [output, weights] = self_attention(x);
  EXPECT_TRUE(same_bits(output.view().with_axis(0).with_axis(0), attention(head, head, head, options)));
  EXPECT_TRUE(same_bits(weights.view().with_axis(0).with_axis(0),
                        attention_rows(head, head, options, Stage::weights)));
}

TEST(SelfAttention, AnyStridesAndNoTokens) {
  const Tensor turned = random_normal({5, 7}, DType::f32, 1);
  const Tensor x = copy_of(turned.view().transposed(0, 1));
  EXPECT_TRUE(same_bits(self_attention(turned.view().transposed(0, 1)).output, self_attention(x).output));
  const auto [output, weights] = self_attention(Tensor(DType::f32, {0, 5}));
  EXPECT_EQ(output.shape(), (Dims{0, 5}));
  EXPECT_EQ(weights.shape(), (Dims{0, 0}));
}

TEST(SelfAttention, Refuses) {
  EXPECT_REFUSES(self_attention({}), "[self_attention] x is not given");
  EXPECT_REFUSES(self_attention(Tensor(DType::boolean, {3, 3})),
                 "[self_attention] x is boolean, expected a floating type");
  EXPECT_REFUSES(self_attention(Tensor(DType::f32, {3})),
                 "[self_attention] x has shape (3,), expected 2 dimensions");
  EXPECT_REFUSES(self_attention(Tensor(DType::f32, {3, 0})), "[self_attention] x has no columns");
  EXPECT_REFUSES(self_attention(Tensor(DType::f32, {1, 3, 3})), "[self_attention] x has shape (1, 3, 3)");
}

TEST(SelfAttentionBackward, AgreesWithFiniteDifferences) {
  Tensor x = random_normal({5, 3}, DType::f64, 1);
  const Tensor d_output = random_normal({5, 3}, DType::f64, 2);
  Tensor d_x(DType::f64, {5, 3});
  reference::self_attention_backward(x, d_output, d_x);
  const auto loss = [&] { return inner_product(self_attention(x).output, d_output); };
  EXPECT_LT(max_abs_difference(d_x, finite_difference(x, loss)), 1e-9);

  // From and to other types, strides, and a gradient that goes where x was.
  const Tensor x32 = copy_of(x, DType::f32);
  Tensor turned(DType::f32, {3, 5}), in_place = copy_of(x);
  reference::self_attention_backward(x32, d_output, turned.view().transposed(0, 1));
  EXPECT_LT(max_abs_difference(turned.view().transposed(0, 1), d_x), 1e-5);
  reference::self_attention_backward(in_place, d_output, in_place);
  EXPECT_TRUE(same_bits(in_place, d_x));
  Tensor nothing(DType::f64, {0, 3});
  reference::self_attention_backward(nothing, nothing, nothing);
}

TEST(SelfAttentionBackward, Refuses) {
  const char* const operation = "[reference::self_attention_backward] ";
  const Tensor x(DType::f64, {4, 3}), other(DType::f64, {3, 4});
  Tensor d_x(DType::f64, {4, 3}), d_other(DType::f64, {3, 4});
  const auto run = [](ConstTensorView a, ConstTensorView d_output, TensorView d_a) {
    reference::self_attention_backward(a, d_output, d_a);
  };
  EXPECT_REFUSES(run({}, x, d_x), operation + std::string("x is not given"));
  EXPECT_REFUSES(run(x.view().select(0, 0), x, d_x),
                 operation + std::string("x has shape (3,), expected 2 dimensions"));
  EXPECT_REFUSES(run(x, {}, d_x), operation + std::string("d_output is not given"));
  EXPECT_REFUSES(run(x, other, d_x), operation + std::string("d_output has shape (3, 4), expected (4, 3)"));
  EXPECT_REFUSES(run(x, x, {}), operation + std::string("d_x is not given"));
  EXPECT_REFUSES(run(x, x, d_other), operation + std::string("d_x has shape (3, 4), expected (4, 3)"));
}

TEST(SingleHead, EqualsExplicitProjections) {
  for (const auto& [dtype, bound] : {std::pair{DType::f32, 1e-6}, {DType::f64, 1e-15}}) {
    const Tensor x = random_normal({6, 5}, dtype, 1), wq = random_normal({5, 4}, dtype, 2, 0.5);
    const Tensor wk = random_normal({5, 4}, dtype, 3, 0.5), wv = random_normal({5, 3}, dtype, 4, 0.5);
    Tensor q(dtype, {1, 1, 6, 4}), k(dtype, {1, 1, 6, 4}), v(dtype, {1, 1, 6, 3});
    linear(x.view().with_axis(0).with_axis(0), wq, {}, q);
    linear(x.view().with_axis(0).with_axis(0), wk, {}, k);
    linear(x.view().with_axis(0).with_axis(0), wv, {}, v);
    for (const bool causal : {false, true}) {
      AttentionOptions options;
      options.causal = causal;
      const auto [output, weights] = single_head_attention(x, wq, wk, wv, options);
      EXPECT_LE(max_abs_difference(output.view().with_axis(0).with_axis(0), attention(q, k, v, options)),
                bound);
      EXPECT_LE(max_abs_difference(weights.view().with_axis(0).with_axis(0),
                                   attention_rows(q, k, options, Stage::weights)),
                bound);
    }
  }
}

// With unit matrices only the scale is left: 1 / sqrt(d), which self_attention() does not have.
TEST(SingleHead, WithUnitMatricesIsSelfAttentionButForTheScale) {
  const Tensor x = random_normal({6, 3}, DType::f64, 1);
  const Tensor unit = Tensor::from<double>({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  AttentionOptions unscaled;
  unscaled.scale = 1;
  EXPECT_TRUE(
      same_bits(single_head_attention(x, unit, unit, unit, unscaled).output, self_attention(x).output));
  EXPECT_FALSE(same_bits(single_head_attention(x, unit, unit, unit).output, self_attention(x).output));
}

TEST(SingleHead, EmptyInputs) {
  const Tensor w(DType::f32, {3, 2});
  const auto [output, weights] = single_head_attention(Tensor(DType::f32, {0, 3}), w, w, w);
  EXPECT_EQ(output.shape(), (Dims{0, 2}));
  EXPECT_EQ(weights.shape(), (Dims{0, 0}));
  const Tensor none(DType::f32, {3, 0});
  EXPECT_EQ(single_head_attention(Tensor(DType::f32, {4, 3}), w, w, none).output.shape(), (Dims{4, 0}));
}

TEST(SingleHead, Refuses) {
  const Tensor x(DType::f32, {4, 3}), w(DType::f32, {3, 2});
  EXPECT_REFUSES(single_head_attention(w.view().select(0, 0), w, w, w),
                 "[single_head_attention] x has shape (2,)");
  EXPECT_REFUSES(single_head_attention({}, w, w, w), "[single_head_attention] x is not given");
  EXPECT_REFUSES(single_head_attention(x, w, w, Tensor(DType::f64, {3, 2})),
                 "[single_head_attention] wv is f64, expected f32 as x");
  EXPECT_REFUSES(single_head_attention(x, {}, w, w), "[single_head_attention] wq is not given");
  EXPECT_REFUSES(single_head_attention(x, w, x, w),
                 "[single_head_attention] wk has 4 rows, but its input has 3 columns");
  EXPECT_REFUSES(single_head_attention(x, w, Tensor(DType::f32, {3, 4}), w),
                 "[single_head_attention] wk has 4 columns: with 2 to a head");
  AttentionOptions packed;
  packed.cumulative_query_lengths = packed.cumulative_key_lengths = {0, 4};
  EXPECT_REFUSES(single_head_attention(x, w, w, w, packed),
                 "[single_head_attention] packed sequences are for attention()");
}

}  // namespace
}  // namespace attend
