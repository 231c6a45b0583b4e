#include <attend/layer_norm.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "support/compare.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr double kEpsilon = 1e-5;

Tensor normalised(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma, ConstTensorView beta) {
  Tensor out(x.dtype(), x.shape());
  if (residual.given()) {
    add_layer_norm(x, residual, gamma, beta, kEpsilon, out);
  } else {
    layer_norm(x, gamma, beta, kEpsilon, out);
  }
  return out;
}

TEST(LayerNorm, EveryTypeAndRankAgreesWithFloat64) {
  for (const Dims& shape : {Dims{33}, Dims{5, 33}, Dims{2, 5, 33}, Dims{2, 3, 5, 33}}) {
    for (const auto& [dtype, tolerance] :
         {std::pair{DType::f64, 1e-14}, {DType::f32, 3e-6}, {DType::bf16, 0.02}, {DType::f16, 0.003}}) {
      const Tensor x = random_normal(shape, dtype, 1), residual = random_normal(shape, dtype, 2);
      const Tensor gamma = random_normal({33}, DType::f32, 3), beta = random_normal({33}, DType::f16, 4);
      for (const bool with_residual : {false, true}) {
        const ConstTensorView added = with_residual ? residual.view() : ConstTensorView();
        Tensor expected(DType::f64, shape);
        reference::layer_norm(x, added, gamma, beta, kEpsilon, expected);
        EXPECT_LT(max_abs_difference(normalised(x, added, gamma, beta), expected), tolerance);
        reference::layer_norm(x, added, {}, {}, kEpsilon, expected);
        EXPECT_LT(max_abs_difference(normalised(x, added, {}, {}), expected), tolerance);
      }
    }
  }
}

TEST(LayerNorm, AnyStridesAndInPlace) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Tensor x = random_normal({6, 4, 9}, dtype, 1), residual = random_normal({9, 4, 6}, dtype, 2);
    const Tensor factors = random_normal({6, 2}, dtype, 3);
    const ConstTensorView turned = x.view().transposed(0, 2);
    const ConstTensorView gamma = factors.view().select(1, 0), beta = factors.view().select(1, 1);
    const Tensor expected = normalised(copy_of(turned), residual, copy_of(gamma), copy_of(beta));
    EXPECT_TRUE(same_bits(normalised(turned, residual, gamma, beta), expected));
    Tensor over_x = copy_of(x), over_residual = copy_of(residual);
    add_layer_norm(over_x.view().transposed(0, 2), residual, gamma, beta, kEpsilon,
                   over_x.view().transposed(0, 2));
    EXPECT_TRUE(same_bits(over_x.view().transposed(0, 2), expected));
    add_layer_norm(turned, over_residual, gamma, beta, kEpsilon, over_residual);
    EXPECT_TRUE(same_bits(over_residual, expected));
  }
}

// The moments of x + residual in any type, with strides and without; asking for them changes nothing else.
TEST(LayerNorm, State) {
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::f64, 1e-14}, {DType::f32, 1e-6}, {DType::bf16, 1e-6}, {DType::f16, 1e-6}}) {
    const Tensor x = random_normal({3, 5, 33}, dtype, 1), residual = random_normal({3, 5, 33}, dtype, 2);
    for (const bool with_residual : {false, true}) {
      const DType computed = dtype == DType::f64 ? dtype : DType::f32;
      Tensor out(dtype, x.shape()), mean(computed, {5, 3}), inverse_deviation(computed, {3, 5});
      const LayerNormStateView state{mean.view().transposed(0, 1), inverse_deviation};
      if (with_residual) {
        add_layer_norm(x, residual, {}, {}, kEpsilon, out, state);
      } else {
        layer_norm(x, {}, {}, kEpsilon, out, state);
      }
      EXPECT_TRUE(same_bits(out, normalised(x, with_residual ? residual.view() : ConstTensorView(), {}, {})));
      const Tensor wide_x = copy_of(x, DType::f64), wide_residual = copy_of(residual, DType::f64);
      Tensor expected_mean(DType::f64, {3, 5}), expected_inverse(DType::f64, {3, 5});
      for (std::size_t row = 0; row < 15; ++row) {
        double sum = 0, squares = 0;
        for (std::size_t i = row * 33; i < (row + 1) * 33; ++i) {
          const double value =
              wide_x.values<double>()[i] + (with_residual ? wide_residual.values<double>()[i] : 0);
          sum += value;
          squares += value * value;
        }
        expected_mean.values<double>()[row] = sum / 33;
        expected_inverse.values<double>()[row] = 1 / std::sqrt(squares / 33 - sum / 33 * sum / 33 + kEpsilon);
      }
      EXPECT_LT(max_abs_difference(state.mean, expected_mean), tolerance);
      EXPECT_LT(max_abs_difference(inverse_deviation, expected_inverse), tolerance);
    }
  }
  Tensor one(DType::f32, {1}), mean(DType::f32, {}), none(DType::f32, {2, 0}), no_mean(DType::f32, {2});
  layer_norm(Tensor::from<float>({1}, {3}), {}, {}, kEpsilon, one, {mean, {}});
  EXPECT_EQ(mean.values<float>()[0], 3);
  layer_norm(none, {}, {}, kEpsilon, none, {no_mean, {}});
  EXPECT_TRUE(std::isnan(no_mean.values<float>()[0]) && std::isnan(no_mean.values<float>()[1]));
}

TEST(LayerNorm, SameBitsInAnyCompanyAndWithAnyThreads) {
  const Tensor x = random_normal({300, 65}, DType::f32, 1),
               residual = random_normal({300, 65}, DType::f32, 2);
  set_threads(1);
  const Tensor expected = normalised(x, residual, {}, {});
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(normalised(x, residual, {}, {}), expected));
    EXPECT_TRUE(same_bits(normalised(x.view().slice(0, 123, 124), residual.view().slice(0, 123, 124), {}, {}),
                          expected.view().slice(0, 123, 124)));
  }
  set_threads(0);
}

TEST(LayerNorm, EmptyInputs) {
  EXPECT_EQ(normalised(Tensor(DType::f32, {0, 5}), {}, {}, {}).count(), 0);
  EXPECT_EQ(normalised(Tensor(DType::bf16, {5, 0}), Tensor(DType::bf16, {5, 0}), {}, {}).count(), 0);
}

TEST(LayerNorm, Refuses) {
  Tensor x(DType::f32, {2, 3}), out(DType::f32, {2, 3}), wide(DType::f32, {2, 4}),
      doubles(DType::f64, {2, 3});
  const Tensor three(DType::f32, {3}), four(DType::f32, {4});
  EXPECT_REFUSES(layer_norm(x, {}, {}, 0, wide), "[layer_norm] out has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(layer_norm(x, {}, {}, 0, doubles), "[layer_norm] out is f64, expected f32 as x");
  EXPECT_REFUSES(layer_norm({}, {}, {}, 0, out), "[layer_norm] x is not given");
  EXPECT_REFUSES(layer_norm(x, four, {}, 0, out), "[layer_norm] gamma has shape (4,), expected (3,)");
  EXPECT_REFUSES(layer_norm(x, three, four, 0, out), "[layer_norm] beta has shape (4,), expected (3,)");
  EXPECT_REFUSES(layer_norm(x, {}, {}, -1, out), "[layer_norm] epsilon is -1, expected 0 or more");
  EXPECT_REFUSES(layer_norm(x, {}, {}, NAN, out), "[layer_norm] epsilon is nan, expected 0 or more");
  EXPECT_REFUSES(layer_norm(wide.view().slice(1, 0, 3), {}, {}, 0, wide.view().slice(1, 1, 4)),
                 "[layer_norm] out overlaps x in memory");
  EXPECT_REFUSES(layer_norm(x, out.view().select(0, 0), {}, 0, out),
                 "[layer_norm] out overlaps gamma in memory");
  Tensor two(DType::f32, {2}), others(DType::f32, {3});
  EXPECT_REFUSES(layer_norm(x, {}, {}, 0, out, {others, {}}),
                 "[layer_norm] mean has shape (3,), expected (2,)");
  EXPECT_REFUSES(add_layer_norm(x, x, {}, {}, 0, out, {{}, doubles.view().select(1, 0)}),
                 "[add_layer_norm] inverse_deviation is f64, expected f32");
  EXPECT_REFUSES(layer_norm(x, {}, {}, 0, out, {x.view().select(1, 0), {}}),
                 "[layer_norm] mean overlaps x in memory");
  EXPECT_REFUSES(layer_norm(x, {}, {}, 0, out, {two, two}),
                 "[layer_norm] inverse_deviation overlaps mean in memory");
  EXPECT_REFUSES(add_layer_norm(x, {}, {}, {}, 0, out), "[add_layer_norm] residual is not given");
  EXPECT_REFUSES(add_layer_norm(x, wide, {}, {}, 0, out),
                 "[add_layer_norm] residual has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(add_layer_norm(x, doubles, {}, {}, 0, out),
                 "[add_layer_norm] residual is f64, expected f32 as x");
  EXPECT_REFUSES(add_layer_norm(x, wide.view().slice(1, 0, 3), {}, {}, 0, wide.view().slice(1, 1, 4)),
                 "[add_layer_norm] out overlaps residual in memory");
}

}  // namespace
}  // namespace attend
