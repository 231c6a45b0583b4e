// The backward pass of multi-head attention: every gradient against finite differences, in float64; and the
// fast one against that.
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <vector>

#include "nn/multi_head_inputs.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr double kBound = 1e-9;

// Room for the gradient of each part of a call.
struct Room {
  explicit Room(const MultiHeadInputs& in, DType dtype = DType::f64)
      : x(dtype, in.x.shape()),
        context(dtype, in.context.shape()),
        wq(dtype, in.wq.shape()),
        wk(dtype, in.wk.shape()),
        wv(dtype, in.wv.shape()),
        wo(dtype, in.wo.shape()),
        bq(dtype, in.bq.shape()),
        bk(dtype, in.bk.shape()),
        bv(dtype, in.bv.shape()),
        bo(dtype, in.bo.shape()) {}
  reference::MultiHeadGradients views() {
    return {.x = x,
            .context = context,
            .wq = wq,
            .wk = wk,
            .wv = wv,
            .wo = wo,
            .bq = bq,
            .bk = bk,
            .bv = bv,
            .bo = bo};
  }
  std::vector<const Tensor*> all() const { return {&x, &context, &wq, &wk, &wv, &wo, &bq, &bk, &bv, &bo}; }

  Tensor x, context, wq, wk, wv, wo, bq, bk, bv, bo;
};

std::vector<Tensor*> parts_of(MultiHeadInputs& in) {
  return {&in.x, &in.context, &in.wq, &in.wk, &in.wv, &in.wo, &in.bq, &in.bk, &in.bv, &in.bo};
}

constexpr const char* kParts[] = {"x", "context", "wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo"};

// Gradients of numbers that live in the options.
Tensor finite_difference(std::vector<double>& values, const auto& loss) {
  Tensor moved = Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values);
  const auto write_back = [&] {
    values.assign(moved.values<double>().begin(), moved.values<double>().end());
  };
  const auto moved_loss = [&] {
    write_back();
    return loss();
  };
  Tensor gradient = finite_difference(moved, moved_loss);
  write_back();
  return gradient;
}

TEST(MultiHeadBackward, EveryGradientAgreesWithFiniteDifferences) {
  for (const std::int64_t key_heads : {4, 2, 1}) {
    MultiHeadInputs in(DType::f64, {.key_heads = key_heads});
    const Tensor d_out = random_normal(in.output_shape(), DType::f64, 30);
    const auto loss = [&] { return inner_product(multi_head_of(in.x, in.context, in.weights(), 4), d_out); };
    Room room(in);
    reference::multi_head_attention_backward(in.x, in.context, in.weights(), 4, {}, d_out, room.views());
    for (std::size_t i = 0; i < std::size(kParts); ++i) {
      EXPECT_LT(max_abs_difference(*room.all()[i], finite_difference(*parts_of(in)[i], loss)), kBound)
          << kParts[i];
    }
  }
}

TEST(MultiHeadBackward, WithEveryOptionAndItsOwnGradients) {
  MultiHeadInputs in(DType::f64);
  const Tensor mask = random_boolean({2, 1, 1, 5}, 31, 0.8);
  Tensor bias = random_normal({4, 1, 5}, DType::f64, 32);
  AttentionOptions options;
  options.scale = 0.7;
  options.causal = true;
  options.query_offset = QueryOffset::bottom_right();
  options.window = {3, Window::kUnlimited};
  options.key_lengths = {5, 4};
  options.mask = mask;
  options.bias = bias;
  options.alibi_slopes = {0.5, 0.25, 0.125, 0.0625};
  options.softcap = 1.5;
  options.sinks = {0, 1, -1, 0.5};
  const Tensor d_out = random_normal(in.output_shape(), DType::f64, 33);
  const auto loss = [&] {
    return inner_product(multi_head_of(in.x, in.context, in.weights(), 4, options), d_out);
  };

  Room room(in);
  Tensor d_bias(DType::f64, bias.shape()), d_slopes(DType::f64, {4}), d_sinks(DType::f64, {4});
  reference::MultiHeadGradients gradients = room.views();
  gradients.attention = {.bias = d_bias, .alibi_slopes = d_slopes, .sinks = d_sinks};
  reference::multi_head_attention_backward(in.x, in.context, in.weights(), 4, options, d_out, gradients);
  for (std::size_t i = 0; i < std::size(kParts); ++i) {
    EXPECT_LT(max_abs_difference(*room.all()[i], finite_difference(*parts_of(in)[i], loss)), kBound)
        << kParts[i];
  }
  EXPECT_LT(max_abs_difference(d_bias, finite_difference(bias, loss)), kBound);
  EXPECT_LT(max_abs_difference(d_slopes, finite_difference(options.alibi_slopes, loss)), kBound);
  EXPECT_LT(max_abs_difference(d_sinks, finite_difference(options.sinks, loss)), kBound);
}

TEST(MultiHeadBackward, WithoutAnOutputProjection) {
  MultiHeadInputs in(DType::f64);
  MultiHeadWeights weights = in.weights();
  weights.wo = weights.bo = {};
  const Tensor d_out = random_normal(in.concat_shape(), DType::f64, 34);
  const auto loss = [&] { return inner_product(multi_head_of(in.x, in.context, weights, 4), d_out); };
  Room room(in);
  reference::MultiHeadGradients gradients = room.views();
  gradients.wo = gradients.bo = {};
  reference::multi_head_attention_backward(in.x, in.context, weights, 4, {}, d_out, gradients);
  for (const std::size_t i : {0, 1, 2, 3, 4, 6, 7, 8}) {
    EXPECT_LT(max_abs_difference(*room.all()[i], finite_difference(*parts_of(in)[i], loss)), kBound)
        << kParts[i];
  }
}

TEST(MultiHeadBackward, OfSelfAttentionIsTheSumOfBothRoles) {
  MultiHeadInputs in(DType::f64, {.eq = 6});
  const Tensor d_out = random_normal(in.output_shape(), DType::f64, 35);
  const auto loss = [&] { return inner_product(multi_head_of(in.x, in.x, in.weights(), 4), d_out); };
  Tensor as_query(DType::f64, in.x.shape()), as_context(DType::f64, in.x.shape());
  reference::multi_head_attention_backward(in.x, in.x, in.weights(), 4, {}, d_out,
                                           {.x = as_query, .context = as_context});
  for (std::size_t i = 0; i < as_query.values<double>().size(); ++i) {
    as_query.values<double>()[i] += as_context.values<double>()[i];
  }
  EXPECT_LT(max_abs_difference(as_query, finite_difference(in.x, loss)), kBound);
}

TEST(MultiHeadBackward, EachGradientAlone) {
  const MultiHeadInputs in(DType::f64);
  const Tensor d_out = random_normal(in.output_shape(), DType::f64, 36);
  Room together(in), alone(in);
  const auto run = [&](const reference::MultiHeadGradients& gradients) {
    reference::multi_head_attention_backward(in.x, in.context, in.weights(), 4, {}, d_out, gradients);
  };
  run(together.views());
  run({});
  run({.x = alone.x});
  run({.context = alone.context});
  run({.wq = alone.wq});
  run({.wk = alone.wk});
  run({.wv = alone.wv});
  run({.wo = alone.wo});
  run({.bq = alone.bq});
  run({.bk = alone.bk});
  run({.bv = alone.bv});
  run({.bo = alone.bo});
  for (std::size_t i = 0; i < std::size(kParts); ++i) {
    EXPECT_TRUE(same_bits(*alone.all()[i], *together.all()[i])) << kParts[i];
  }
}

// The gradients of the very numbers that f32 tensors hold, into whatever there is to hold them.
TEST(MultiHeadBackward, FromAndToOtherTypesAndStrides) {
  MultiHeadInputs in(DType::f32), wide(DType::f64);
  for (std::size_t i = 0; i < std::size(kParts); ++i) {
    *parts_of(wide)[i] = copy_of(*parts_of(in)[i], DType::f64);
  }
  const Tensor d_out = random_normal(in.output_shape(), DType::f64, 37);
  Room expected(wide), narrow(in, DType::f32);
  reference::multi_head_attention_backward(wide.x, wide.context, wide.weights(), 4, {}, d_out,
                                           expected.views());
  Tensor turned(DType::f64, {12, 5});
  reference::MultiHeadGradients gradients = narrow.views();
  gradients.wq = turned.view().transposed(0, 1);
  reference::multi_head_attention_backward(in.x, in.context, in.weights(), 4, {}, d_out, gradients);
  EXPECT_TRUE(same_bits(turned.view().transposed(0, 1), expected.wq));
  for (const std::size_t i : {0, 1, 3, 4, 5, 6, 7, 8, 9}) {
    EXPECT_TRUE(same_bits(*narrow.all()[i], copy_of(*expected.all()[i], DType::f32))) << kParts[i];
  }
}

TEST(MultiHeadBackward, EmptyInputsGiveZero) {
  for (const MultiHeadSizes& sizes :
       {MultiHeadSizes{.batch = 0}, MultiHeadSizes{.queries = 0}, MultiHeadSizes{.keys = 0}}) {
    const MultiHeadInputs in(DType::f64, sizes);
    Room room(in);
    for (double& value : room.wk.values<double>()) value = 1;  // overwritten
    const Tensor d_out = random_normal(in.output_shape(), DType::f64, 38);
    reference::multi_head_attention_backward(in.x, in.context, in.weights(), 4, {}, d_out, room.views());
    EXPECT_EQ(max_abs_difference(room.wk, Tensor(DType::f64, in.wk.shape())), 0);
    EXPECT_EQ(max_abs_difference(room.wo, Tensor(DType::f64, in.wo.shape())), 0);
  }
}

class MultiHeadBackwardOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, MultiHeadBackwardOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

// The fast one against the judge, with options and the gradient of one.
TEST_P(MultiHeadBackwardOnEachIsa, AgreesWithTheReference) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const MultiHeadInputs in(dtype, {.queries = 37, .keys = 41, .d = 16, .dv = 8});
    const Tensor mask = random_boolean({2, 1, 1, 41}, 31, 0.8), bias = random_normal({4, 1, 41}, dtype, 32);
    AttentionOptions options;
    options.causal = true;
    options.query_offset = QueryOffset::bottom_right();
    options.key_lengths = {41, 30};
    options.mask = mask;
    options.bias = bias;
    options.sinks = {0, 1, -1, 0.5};
    const Tensor d_out = random_normal(in.output_shape(), dtype, 33);
    Room found(in, dtype), expected(in);
    Tensor d_bias(dtype, bias.shape()), bias_expected(DType::f64, bias.shape());
    MultiHeadGradients gradients = found.views(), judged = expected.views();
    gradients.attention.bias = d_bias;
    judged.attention.bias = bias_expected;
    multi_head_attention_backward(in.x, in.context, in.weights(), 4, options, d_out, gradients);
    reference::multi_head_attention_backward(in.x, in.context, in.weights(), 4, options, d_out, judged);
    const double bound = dtype == DType::f32 ? 1e-4 : 1e-12;  // sums over 74 rows
    for (std::size_t i = 0; i < std::size(kParts); ++i) {
      EXPECT_LT(max_abs_difference(*found.all()[i], *expected.all()[i]), bound) << kParts[i];
    }
    EXPECT_LT(max_abs_difference(d_bias, bias_expected), bound);
  }
}

TEST(MultiHeadBackward, SameBitsWithAnyThreadsAloneAndStrided) {
  const MultiHeadInputs in(DType::f32, {.queries = 70, .keys = 90, .d = 16, .dv = 8});
  const Tensor d_out = random_normal(in.output_shape(), DType::f32, 36);
  Room expected(in, DType::f32);
  set_threads(1);
  multi_head_attention_backward(in.x, in.context, in.weights(), 4, {}, d_out, expected.views());
  for (const int threads : {2, 3, 8}) {
    set_threads(threads);
    Room found(in, DType::f32);
    multi_head_attention_backward(in.x, in.context, in.weights(), 4, {}, d_out, found.views());
    for (std::size_t i = 0; i < std::size(kParts); ++i) {
      EXPECT_TRUE(same_bits(*found.all()[i], *expected.all()[i])) << kParts[i];
    }
  }
  set_threads(0);
  Tensor turned(DType::f32, {in.wk.size(1), in.wk.size(0)});
  multi_head_attention_backward(in.x, in.context, in.weights(), 4, {}, d_out,
                                {.wk = turned.view().transposed(0, 1)});
  EXPECT_TRUE(same_bits(turned.view().transposed(0, 1), expected.wk));
  const MultiHeadInputs nothing(DType::f32, {.queries = 0});
  Room room(nothing, DType::f32);
  for (float& value : room.wk.values<float>()) value = 1;  // overwritten
  multi_head_attention_backward(nothing.x, nothing.context, nothing.weights(), 4, {},
                                Tensor(DType::f32, nothing.output_shape()), room.views());
  EXPECT_EQ(max_abs_difference(room.wk, Tensor(DType::f32, room.wk.shape())), 0);
}

TEST(MultiHeadBackward, RefusesWhatMakesNoSense) {
  MultiHeadInputs in(DType::f32);
  const Tensor d_out = random_normal(in.output_shape(), DType::f32, 36);
  Room wide(in);
  const auto run = [&](ConstTensorView d, const MultiHeadGradients& gradients) {
    multi_head_attention_backward(in.x, in.context, in.weights(), 4, {}, d, gradients);
  };
  EXPECT_REFUSES(run(in.x, {}), "[multi_head_attention_backward] d_out has shape");
  EXPECT_REFUSES(run(d_out, {.wq = wide.wq}),
                 "[multi_head_attention_backward] d_wq is f64, expected f32 as x");
  EXPECT_REFUSES(run(d_out, {.wq = in.wq}), "[multi_head_attention_backward] d_wq overlaps wq in memory");
  EXPECT_REFUSES(run(d_out, {.x = in.wq}), "[multi_head_attention_backward] d_x has shape");
}

}  // namespace
}  // namespace attend
