#include <attend/layer_norm.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr double kBackwardEpsilon = 1e-5;

struct LayerNormGradientsOf {
  Tensor x, gamma, beta;
};

LayerNormGradientsOf gradients_of(ConstTensorView x, ConstTensorView gamma, ConstTensorView d_out,
                                  ConstTensorView residual = {}) {
  const std::int64_t n = x.size(x.rank() - 1);
  LayerNormGradientsOf result{Tensor(x.dtype(), x.shape()), Tensor(DType::f64, {n}), Tensor(DType::f64, {n})};
  layer_norm_backward(x, gamma, kBackwardEpsilon, d_out,
                      {.x = result.x, .gamma = result.gamma, .beta = result.beta}, residual);
  return result;
}

TEST(LayerNormBackward, TheReferenceAgreesWithFiniteDifferences) {
  Tensor x = random_normal({3, 7}, DType::f64, 1), gamma = random_normal({7}, DType::f64, 2),
         beta = random_normal({7}, DType::f64, 3);
  const Tensor d_out = random_normal({3, 7}, DType::f64, 4), residual = random_normal({3, 7}, DType::f64, 5);
  const auto loss = [&] {
    Tensor out(DType::f64, x.shape());
    reference::layer_norm(x, {}, gamma, beta, kBackwardEpsilon, out);
    return inner_product(out, d_out) + inner_product(x, residual);
  };
  LayerNormGradientsOf found{Tensor(DType::f64, {3, 7}), Tensor(DType::f64, {7}), Tensor(DType::f64, {7})};
  reference::layer_norm_backward(x, gamma, kBackwardEpsilon, d_out,
                                 {.x = found.x, .gamma = found.gamma, .beta = found.beta}, residual);
  EXPECT_LT(max_abs_difference(found.x, finite_difference(x, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.gamma, finite_difference(gamma, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.beta, finite_difference(beta, loss)), 1e-9);
}

TEST(LayerNormBackward, EveryTypeAndRankAgreesWithFloat64) {
  for (const Dims& shape : {Dims{33}, Dims{5, 33}, Dims{2, 5, 33}, Dims{7, 3, 17, 33}}) {
    for (const auto& [dtype, tolerance] :
         {std::pair{DType::f64, 1e-13}, {DType::f32, 5e-6}, {DType::bf16, 0.03}, {DType::f16, 0.004}}) {
      const Tensor x = random_normal(shape, dtype, 1), d_out = random_normal(shape, dtype, 2);
      const Tensor residual = random_normal(shape, dtype, 3), gamma = random_normal({33}, DType::f16, 4);
      for (const int given : {0, 1, 2, 3}) {
        const ConstTensorView factor = given & 1 ? gamma.view() : ConstTensorView();
        const ConstTensorView added = given & 2 ? residual.view() : ConstTensorView();
        LayerNormGradientsOf expected{Tensor(DType::f64, shape), Tensor(DType::f64, {33}),
                                      Tensor(DType::f64, {33})};
        reference::layer_norm_backward(x, factor, kBackwardEpsilon, d_out,
                                       {.x = expected.x, .gamma = expected.gamma, .beta = expected.beta},
                                       added);
        const LayerNormGradientsOf found = gradients_of(x, factor, d_out, added);
        EXPECT_LT(max_abs_difference(found.x, expected.x), tolerance);
        // Sums of up to 357 numbers near 1, of the stored inputs: f32 whatever their type.
        const double sums = dtype == DType::f64 ? 1e-12 : 5e-5;
        EXPECT_LT(max_abs_difference(found.gamma, expected.gamma), sums);
        EXPECT_LT(max_abs_difference(found.beta, expected.beta), sums);
      }
    }
  }
}

TEST(LayerNormBackward, AnyStridesAndInPlace) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Tensor x = random_normal({6, 4, 9}, dtype, 1), d_out = random_normal({9, 4, 6}, dtype, 2);
    const Tensor residual = random_normal({4, 9, 6}, dtype, 3), factors = random_normal({6, 2}, dtype, 4);
    const ConstTensorView turned = x.view().transposed(0, 2), swapped = residual.view().transposed(0, 1);
    const ConstTensorView gamma = factors.view().select(1, 0);
    const LayerNormGradientsOf expected =
        gradients_of(copy_of(turned), copy_of(gamma), d_out, copy_of(swapped));
    const LayerNormGradientsOf found = gradients_of(turned, gamma, d_out, swapped);
    EXPECT_TRUE(same_bits(found.x, expected.x));
    EXPECT_TRUE(same_bits(found.gamma, expected.gamma));
    EXPECT_TRUE(same_bits(found.beta, expected.beta));
    // Over each of the inputs, with the sums wanted as well: they must see what was there.
    for (int which = 0; which < 3; ++which) {
      Tensor over_x = copy_of(x), over_d_out = copy_of(d_out), over_residual = copy_of(residual);
      const TensorView targets[] = {over_x.view().transposed(0, 2), over_d_out,
                                    over_residual.view().transposed(0, 1)};
      Tensor d_gamma(DType::f64, {6});
      layer_norm_backward(targets[0], gamma, kBackwardEpsilon, targets[1],
                          {.x = targets[which], .gamma = d_gamma}, targets[2]);
      EXPECT_TRUE(same_bits(targets[which], expected.x)) << which;
      EXPECT_TRUE(same_bits(d_gamma, expected.gamma)) << which;
    }
  }
}

TEST(LayerNormBackward, SameBitsInAnyCompanyAndWithAnyThreads) {
  const Tensor x = random_normal({700, 65}, DType::f32, 1), d_out = random_normal({700, 65}, DType::f32, 2);
  set_threads(1);
  const LayerNormGradientsOf expected = gradients_of(x, {}, d_out);
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    const LayerNormGradientsOf found = gradients_of(x, {}, d_out);
    EXPECT_TRUE(same_bits(found.x, expected.x));
    EXPECT_TRUE(same_bits(found.gamma, expected.gamma));
    EXPECT_TRUE(same_bits(found.beta, expected.beta));
    EXPECT_TRUE(same_bits(gradients_of(x.view().slice(0, 123, 124), {}, d_out.view().slice(0, 123, 124)).x,
                          expected.x.view().slice(0, 123, 124)));
  }
  set_threads(0);
}

TEST(LayerNormBackward, OneGradientAloneIsThatOfAll) {
  const Tensor x = random_normal({300, 9}, DType::f32, 1), d_out = random_normal({300, 9}, DType::f32, 2);
  const LayerNormGradientsOf expected = gradients_of(x, {}, d_out);
  Tensor d_x(DType::f32, {300, 9}), d_gamma(DType::f64, {9}), d_beta(DType::f64, {9});
  layer_norm_backward(x, {}, kBackwardEpsilon, d_out, {.x = d_x});
  layer_norm_backward(x, {}, kBackwardEpsilon, d_out, {.gamma = d_gamma});
  layer_norm_backward(x, {}, kBackwardEpsilon, d_out, {.beta = d_beta});
  EXPECT_TRUE(same_bits(d_x, expected.x));
  EXPECT_TRUE(same_bits(d_gamma, expected.gamma));
  EXPECT_TRUE(same_bits(d_beta, expected.beta));
}

TEST(LayerNormBackward, EmptyInputs) {
  const Tensor none(DType::f32, {0, 3}), narrow(DType::bf16, {5, 0});
  Tensor d_gamma = random_normal({3}, DType::f32, 1), d_x(DType::f32, {0, 3}), d_narrow(DType::bf16, {5, 0});
  layer_norm_backward(none, {}, kBackwardEpsilon, none, {.x = d_x, .gamma = d_gamma});
  EXPECT_TRUE(same_bits(d_gamma, Tensor(DType::f32, {3})));
  Tensor nothing(DType::f32, {0});
  layer_norm_backward(narrow, {}, kBackwardEpsilon, narrow, {.x = d_narrow, .gamma = nothing});
}

TEST(LayerNormBackward, Refuses) {
  Tensor x(DType::f32, {2, 3}), d(DType::f32, {2, 3}), out(DType::f32, {2, 3}), wide(DType::f32, {2, 4}),
      doubles(DType::f64, {2, 3}), three(DType::f32, {3}), four(DType::f32, {4});
  EXPECT_REFUSES(layer_norm_backward({}, {}, 0, d, {.x = out}), "[layer_norm_backward] x is not given");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, {}, {.x = out}), "[layer_norm_backward] d_out is not given");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, wide, {.x = out}), "d_out has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, doubles, {.x = out}), "d_out is f64, expected f32 as x");
  EXPECT_REFUSES(layer_norm_backward(x, four, 0, d, {.x = out}), "gamma has shape (4,), expected (3,)");
  EXPECT_REFUSES(layer_norm_backward(x, {}, -1, d, {.x = out}), "epsilon is -1, expected 0 or more");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, d, {.x = wide}), "d_x has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, d, {.x = doubles}), "d_x is f64, expected f32 as x");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, d, {.gamma = four}), "d_gamma has shape (4,), expected (3,)");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, d, {.x = out}, wide),
                 "residual has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, d, {.x = out}, doubles), "residual is f64, expected f32 as x");
  EXPECT_REFUSES(layer_norm_backward(wide.view().slice(1, 0, 3), {}, 0, d, {.x = wide.view().slice(1, 1, 4)}),
                 "d_x overlaps x in memory");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, d, {.x = out, .gamma = out.view().select(0, 1)}),
                 "d_gamma overlaps d_x in memory");
  EXPECT_REFUSES(layer_norm_backward(x, {}, 0, d, {.gamma = three, .beta = three}),
                 "d_beta overlaps d_gamma in memory");
  EXPECT_REFUSES(reference::layer_norm_backward(x, {}, 0, wide, {.x = out}),
                 "[reference::layer_norm_backward] d_out has shape (2, 4), expected (2, 3)");
}

}  // namespace
}  // namespace attend
