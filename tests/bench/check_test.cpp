// A check that cannot fail is useless: wrong answers are planted, one at a time.
#include "bench/check.h"

#include <attend/reference.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <tuple>

namespace attend::bench {
namespace {

constexpr Shape kShape = {2, 4, 2, 40, 40, 8};

AttentionOptions causal() {
  AttentionOptions options;
  options.causal = true;
  return options;
}

TEST(BenchCheck, CloseIsCloseAndNothingElse) {
  const Tensor expected = Tensor::from<double>({3}, {1, 2, 3});
  EXPECT_EQ(require_close("x", Tensor::from<float>({3}, {1, 2, 3.5f}), expected, 0.5), 0.5);
  EXPECT_THROW(require_close("x", Tensor::from<float>({3}, {1, 2, 3.5f}), expected, 0.4), WrongAnswer);
  EXPECT_THROW(require_close("x", Tensor::from<float>({2}, {1, 2}), expected, 1), WrongAnswer);
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  EXPECT_THROW(require_close("x", Tensor::from<float>({3}, {nan, 2, 3}), expected, 1), WrongAnswer);
  EXPECT_THROW(require_close("x", Tensor::from<float>({3}, {1, 2, -infinity}), expected, 1), WrongAnswer);
}

TEST(BenchCheck, SaysWhatWasWrong) {
  try {
    require_close("fwd full 1,2,3,4", Tensor::from<float>({1}, {2}), Tensor::from<double>({1}, {1}), 1e-5);
    FAIL();
  } catch (const WrongAnswer& error) {
    EXPECT_STREQ(error.what(), "fwd full 1,2,3,4 differs from float64 by 1, more than 1e-5");
  }
}

TEST(BenchCheck, SampledRowsAreSpreadAndDifferent) {
  const std::vector<Shape> shapes = {
      kShape, {1, 1, 1, 1, 7, 4}, {8, 12, 12, 128, 128, 64}, {3, 1, 1, 5, 5, 1}};
  for (const Shape& shape : shapes) {
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> rows;
    std::set<std::int64_t> queries;
    for (const SampledRow& row : sample_rows(shape)) {
      EXPECT_LT(row.sequence, shape.b);
      EXPECT_LT(row.head, shape.hq);
      EXPECT_LT(row.query, shape.lq);
      EXPECT_TRUE(rows.insert({row.sequence, row.head, row.query}).second);
      queries.insert(row.query);
    }
    EXPECT_TRUE(queries.contains(0));
    EXPECT_TRUE(queries.contains(shape.lq - 1));
  }
  EXPECT_EQ(sample_rows(kShape).size(), 16u);
}

TEST(BenchCheck, RightOutputsPass) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Inputs inputs = random_inputs(kShape, dtype);
    for (const AttentionOptions& options : {AttentionOptions(), causal()}) {
      Tensor out(DType::f32, inputs.q.shape());
      attention(inputs.q, inputs.k, inputs.v, options, out);
      const double bound = output_bound(inputs, options);
      EXPECT_LE(check_output("x", inputs, options, out, bound), bound);
      AttentionOptions exact = options;
      exact.precision = Precision::f32;
      attention(inputs.q, inputs.k, inputs.v, exact, out);
      EXPECT_LE(check_output("x", inputs, exact, out), 1e-5);
    }
  }
}

TEST(BenchCheck, OptionsOfARowAreItsOwn) {
  const Inputs inputs = random_inputs(kShape, DType::f32);
  const Tensor bias = random_tensor(DType::f32, {40, 40}, 5);
  Tensor mask(DType::boolean, {40, 40});
  for (std::size_t i = 0; i < mask.values<bool>().size(); ++i) mask.values<bool>()[i] = i % 7 != 3;
  const std::vector<AttentionOptions> all = {
      {.window = {5, 9}},      {.softcap = 3}, {.alibi_slopes = {0.1, 0.2, 0.3, 0.4}},
      {.sinks = {1, 2, 3, 4}}, {.mask = mask}, {.bias = bias}};
  for (const AttentionOptions& options : all) {
    Tensor out(DType::f32, inputs.q.shape()), plain(DType::f32, inputs.q.shape());
    attention(inputs.q, inputs.k, inputs.v, options, out);
    attention(inputs.q, inputs.k, inputs.v, {}, plain);
    EXPECT_LE(check_output("x", inputs, options, out), 1e-5);
    EXPECT_THROW(check_output("x", inputs, options, plain, 1e-3), WrongAnswer);
  }
}

TEST(BenchCheck, AWrongOutputIsFoundInEverySampledRow) {
  const Inputs inputs = random_inputs(kShape, DType::f32);
  for (const SampledRow& row : sample_rows(kShape)) {
    Tensor out(DType::f32, inputs.q.shape());
    attention(inputs.q, inputs.k, inputs.v, causal(), out);
    const std::int64_t place = ((row.sequence * kShape.hq + row.head) * kShape.lq + row.query) * kShape.d;
    out.values<float>()[static_cast<std::size_t>(place) + 3] += 1e-3f;
    EXPECT_THROW(check_output("x", inputs, causal(), out), WrongAnswer);
  }
}

TEST(BenchCheck, ForgettingTheMaskIsFound) {
  const Inputs inputs = random_inputs(kShape, DType::f32);
  Tensor out(DType::f32, inputs.q.shape());
  attention(inputs.q, inputs.k, inputs.v, {}, out);
  EXPECT_THROW(check_output("x", inputs, causal(), out), WrongAnswer);
}

Gradients reference_gradients(const Inputs& inputs, ConstTensorView d_out) {
  Gradients gradients{Tensor(DType::f32, inputs.q.shape()), Tensor(DType::f32, inputs.k.shape()),
                      Tensor(DType::f32, inputs.v.shape())};
  reference::attention_backward(inputs.q, inputs.k, inputs.v, causal(), d_out,
                                {.q = gradients.q, .k = gradients.k, .v = gradients.v});
  return gradients;
}

TEST(BenchCheck, RightGradientsPass) {
  const Inputs inputs = random_inputs(kShape, DType::f32);
  const auto backward = [&](ConstTensorView d_out) { return reference_gradients(inputs, d_out); };
  EXPECT_LE(check_backward("x", inputs, causal(), backward), 1e-5);
}

TEST(BenchCheck, WrongGradientsAreFound) {
  const Inputs inputs = random_inputs(kShape, DType::f32);
  for (const auto member : {&Gradients::q, &Gradients::k, &Gradients::v}) {
    const auto backward = [&](ConstTensorView d_out) {
      Gradients gradients = reference_gradients(inputs, d_out);
      for (float& value : (gradients.*member).values<float>()) value *= 1.01f;
      return gradients;
    };
    EXPECT_THROW(check_backward("x", inputs, causal(), backward), WrongAnswer);
  }
}

TEST(BenchInputs, HaveMeanZeroAndVarianceOne) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Tensor x = copy_of(random_tensor(dtype, {100003}, 9), DType::f64);
    double sum = 0, squares = 0;
    for (const double value : x.values<double>()) sum += value, squares += value * value;
    EXPECT_NEAR(sum / 100003, 0, 0.02);
    EXPECT_NEAR(squares / 100003, 1, 0.02);
  }
}

}  // namespace
}  // namespace attend::bench
