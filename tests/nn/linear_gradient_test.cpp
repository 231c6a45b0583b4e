#include "nn/linear_gradient.h"

#include <attend/threads.h>

#include <cmath>
#include <limits>
#include <utility>

#include "nn/linear.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

struct LinearGradients {
  Tensor w, bias;
};

// Added to something, which is not lost.
LinearGradients added(ConstTensorView x, ConstTensorView d_out, PackedAs as = PackedAs::f32) {
  const std::int64_t in = x.size(1), out = d_out.size(1);
  LinearGradients result{random_normal({in, out}, x.dtype(), 7), random_normal({out}, x.dtype(), 8)};
  Tensor room(DType::f32, {linear_gradient_room(in, out)});
  add_linear_gradient(x, d_out, result.w, result.bias, room, as);
  return result;
}

TEST(LinearGradient, Float64AgreesWithFiniteDifferences) {
  const Tensor x = random_normal({6, 4}, DType::f64, 1), d_out = random_normal({6, 5}, DType::f64, 2);
  Tensor w = random_normal({4, 5}, DType::f64, 3), bias = random_normal({5}, DType::f64, 4);
  const Tensor before_w = random_normal({4, 5}, DType::f64, 7),
               before_bias = random_normal({5}, DType::f64, 8);
  const auto loss = [&] {
    Tensor out(DType::f64, {6, 5});
    linear(x, w, bias, out);
    return inner_product(out, d_out) + inner_product(w, before_w) + inner_product(bias, before_bias);
  };
  const LinearGradients found = added(x, d_out);
  EXPECT_LT(max_abs_difference(found.w, finite_difference(w, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.bias, finite_difference(bias, loss)), 1e-9);
}

class LinearGradientOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, LinearGradientOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

// More rows than are multiplied together, and sizes that fill no tile.
TEST_P(LinearGradientOnEachIsa, AgreesWithFloat64) {
  for (const std::int64_t rows : {1, 17, 1500}) {
    const Tensor x = random_normal({rows, 19}, DType::f32, 1),
                 d_out = random_normal({rows, 35}, DType::f32, 2);
    const LinearGradients found = added(x, d_out);
    const LinearGradients expected = added(copy_of(x, DType::f64), copy_of(d_out, DType::f64));
    EXPECT_LT(max_abs_difference(found.w, expected.w), 1e-4) << rows;  // sums of 1500 numbers near 1
    EXPECT_LT(max_abs_difference(found.bias, expected.bias), 1e-4) << rows;
  }
}

class Bf16LinearGradient : public EachIsa {
 protected:
  static Tensor rounded(ConstTensorView view) { return copy_of(copy_of(view, DType::bf16), DType::f64); }
};
INSTANTIATE_TEST_SUITE_P(Isa, Bf16LinearGradient, testing::ValuesIn(available_isas(Precision::bf16)),
                         isa_name);

// Against the gradient of the rounded numbers the error is that of f32; against that of the numbers as given
// it is what rounding them does. Sizes that fill no tile and no line, and more rows than are multiplied
// together.
TEST_P(Bf16LinearGradient, AgreesWithFloat64) {
  const bool rounds_both = isa(Precision::bf16) != isa();
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1}, {19, 35}, {64, 48}, {33, 130}, {200, 17}};
  for (const std::int64_t rows : {1, 2, 31, 33, 1500, 2100}) {
    for (const auto& [in, out] : sizes) {
      if (kSanitized && rows * in * out > 500'000) continue;
      SCOPED_TRACE(testing::Message() << rows << ' ' << in << ' ' << out);
      const Tensor x = random_normal({rows, in}, DType::f32, 1),
                   d_out = random_normal({rows, out}, DType::f32, 2);
      const LinearGradients found = added(x, d_out, PackedAs::bf16);
      const LinearGradients multiplied =
          added(rounds_both ? rounded(x) : copy_of(x, DType::f64), rounded(d_out));
      const LinearGradients exact = added(copy_of(x, DType::f64), copy_of(d_out, DType::f64));
      EXPECT_LT(max_abs_difference(found.w, multiplied.w), 1e-4);
      EXPECT_LT(max_abs_difference(found.w, exact.w),
                0x1p-7 * 4 * std::sqrt(static_cast<double>(rows)) + 0.06);
      EXPECT_LT(max_abs_difference(found.bias, exact.bias), 1e-4);  // is not rounded
    }
  }
}

TEST_P(Bf16LinearGradient, SameBitsWithAnyThreadsAndStrides) {
  const Tensor x = random_normal({2100, 40}, DType::f32, 1), d_out = random_normal({2100, 70}, DType::f32, 2);
  Tensor wide_x = random_normal({2100, 60}, DType::f32, 3), wide = random_normal({2100, 90}, DType::f32, 4);
  const TensorView some_x = wide_x.view().slice(1, 7, 47), some = wide.view().slice(1, 9, 79);
  copy(x, some_x);
  copy(d_out, some);
  set_threads(1);
  const LinearGradients expected = added(x, d_out, PackedAs::bf16);
  const Tensor turned = copy_of(x.view().transposed(0, 1));
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(added(some_x, some, PackedAs::bf16).w, expected.w)) << count;
    EXPECT_TRUE(same_bits(added(x, d_out, PackedAs::bf16).w, expected.w)) << count;
    EXPECT_LT(max_abs_difference(added(turned.view().transposed(0, 1), d_out, PackedAs::bf16).w, expected.w),
              1e-4);
  }
  set_threads(0);
}

// NaN and infinity reach their own row and column, and no other.
TEST_P(Bf16LinearGradient, WhatIsNotFiniteStaysInItsPlace) {
  Tensor x = random_normal({40, 18}, DType::f32, 1), d_out = random_normal({40, 35}, DType::f32, 2);
  x.values<float>()[3 * 18 + 5] = std::numeric_limits<float>::quiet_NaN();
  d_out.values<float>()[7 * 35 + 33] = std::numeric_limits<float>::infinity();
  const LinearGradients found = added(x, d_out, PackedAs::bf16);
  for (std::int64_t i = 0; i < 18; ++i) {
    for (std::int64_t j = 0; j < 35; ++j) {
      const float value = found.w.values<float>()[static_cast<std::size_t>(i * 35 + j)];
      EXPECT_EQ(std::isfinite(value), i != 5 && j != 33) << i << ' ' << j;
    }
  }
}

TEST(LinearGradient, SameBitsWithAnyThreadsAndStrides) {
  const Tensor x = random_normal({1500, 40}, DType::f32, 1), d_out = random_normal({1500, 70}, DType::f32, 2);
  set_threads(1);
  const LinearGradients expected = added(x, d_out);
  const Tensor turned = copy_of(x.view().transposed(0, 1)), wide = copy_of(d_out.view().transposed(0, 1));
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    const LinearGradients found = added(turned.view().transposed(0, 1), wide.view().transposed(0, 1));
    EXPECT_TRUE(same_bits(found.w, expected.w));
    EXPECT_TRUE(same_bits(found.bias, expected.bias));
  }
  set_threads(0);
}

TEST(LinearGradient, EmptyInputsAndRefusals) {
  const LinearGradients none = added(Tensor(DType::f32, {0, 3}), Tensor(DType::f32, {0, 2}));
  EXPECT_TRUE(same_bits(none.w, random_normal({3, 2}, DType::f32, 7)));
  added(Tensor(DType::f32, {4, 0}), Tensor(DType::f32, {4, 2}));
  added(Tensor(DType::f32, {4, 3}), Tensor(DType::f32, {4, 0}));
  const Tensor x(DType::f32, {4, 3}), d_out(DType::f32, {4, 2});
  Tensor d_w(DType::f32, {3, 2}), small(DType::f32, {16});
  EXPECT_REFUSES(add_linear_gradient(x, d_out, d_w, {}, small), "room has 16 elements, expected");
  EXPECT_REFUSES(add_linear_gradient(x, d_out, d_w, {}, small, PackedAs::int8),
                 "[add_linear_gradient] as is int8, expected f32 or bf16");
  EXPECT_REFUSES(add_linear_gradient(d_out, x, d_w, {}, small), "d_w has shape (3, 2), expected (2, 3)");
  EXPECT_REFUSES(add_linear_gradient(x, d_w, d_w, {}, small), "d_out has shape (3, 2), expected (4, 2)");
}

// Written, not added; rows of any spacing; against the plain loops in float64.
TEST(LinearGradient, AllThreeOfThem) {
  const Tensor storage = random_normal({3, 7, 2, 20}, DType::f32, 1);
  const Tensor w = random_normal({20, 9}, DType::f32, 2);
  for (const bool even : {true, false}) {
    const Tensor dense = copy_of(storage.view().select(2, 1));
    const ConstTensorView x = even ? ConstTensorView(dense) : storage.view().select(2, 1);  // (3, 7, 20)
    const Tensor d_storage = random_normal({7, 3, 9}, DType::f32, 3);
    const ConstTensorView d_out = d_storage.view().transposed(0, 1);
    Tensor d_x = random_normal({3, 7, 20}, DType::f32, 4), d_w = random_normal({20, 9}, DType::f32, 5),
           d_bias = random_normal({9}, DType::f32, 6);
    linear_gradients(x, w, d_out, d_x, d_w, d_bias);
    Tensor x_expected(DType::f64, d_x.shape()), w_expected(DType::f64, d_w.shape()),
        bias_expected(DType::f64, d_bias.shape());
    linear_backward(x, w, d_out, x_expected, w_expected, bias_expected);
    EXPECT_LT(max_abs_difference(d_x, x_expected), 1e-5);
    EXPECT_LT(max_abs_difference(d_w, w_expected), 1e-5);
    EXPECT_LT(max_abs_difference(d_bias, bias_expected), 1e-5);
  }
  // An axis of size 1 has a stride that means nothing.
  const ConstTensorView one(storage.view().raw(), DType::f32, {3, 1, 7, 20}, {280, 280, 40, 1});
  const Tensor d_out = random_normal({3, 1, 7, 9}, DType::f32, 3);
  Tensor d_w(DType::f32, w.shape()), w_expected(DType::f64, w.shape());
  linear_gradients(one, w, d_out, {}, d_w, {});
  linear_backward(one, w, d_out, {}, w_expected, {});
  EXPECT_LT(max_abs_difference(d_w, w_expected), 1e-5);
}

TEST(LinearGradient, AllThreeRefuseWhatMakesNoSense) {
  Tensor x = random_normal({3, 4}, DType::f32, 1), w = random_normal({4, 5}, DType::f32, 2);
  const Tensor d_out = random_normal({3, 5}, DType::f32, 3), wide(DType::f64, {3, 5});
  EXPECT_REFUSES(linear_gradients(x, x, d_out, {}, {}, {}),
                 "[linear_backward] w has shape (3, 4), expected (4, 4)");
  EXPECT_REFUSES(linear_gradients(x, w, x, {}, {}, {}),
                 "[linear_backward] d_out has shape (3, 4), expected (3, 5)");
  EXPECT_REFUSES(linear_gradients(x, w, wide, {}, {}, {}),
                 "[linear_backward] d_out is f64, expected f32 as x");
  EXPECT_REFUSES(linear_gradients(x, w, d_out, x, {}, {}), "[linear_backward] d_x overlaps x in memory");
}

}  // namespace
}  // namespace attend
