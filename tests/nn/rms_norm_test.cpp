#include <attend/rms_norm.h>
#include <attend/threads.h>

#include <utility>

#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr double kRmsEpsilon = 1e-5;

Tensor normed(ConstTensorView x, ConstTensorView gamma) {
  Tensor out(x.dtype(), x.shape());
  rms_norm(x, gamma, kRmsEpsilon, out);
  return out;
}

struct RmsNormGradients {
  Tensor x, gamma;
};

RmsNormGradients rms_gradients_of(ConstTensorView x, ConstTensorView gamma, ConstTensorView d_out,
                                  ConstTensorView residual = {}) {
  const std::int64_t n = x.size(x.rank() - 1);
  RmsNormGradients result{Tensor(x.dtype(), x.shape()), Tensor(DType::f64, {n})};
  rms_norm_backward(x, gamma, kRmsEpsilon, d_out, {.x = result.x, .gamma = result.gamma}, residual);
  return result;
}

TEST(RmsNorm, KnownValues) {
  const Tensor x = Tensor::from<double>({1, 2}, {3, 4}), gamma = Tensor::from<double>({2}, {1, 2});
  Tensor out(DType::f64, {1, 2});
  rms_norm(x, gamma, 0, out);  // the mean square is 12.5
  EXPECT_NEAR(out.values<double>()[0], 3 / std::sqrt(12.5), 1e-15);
  EXPECT_NEAR(out.values<double>()[1], 8 / std::sqrt(12.5), 1e-15);
}

TEST(RmsNorm, Float64AgreesWithFiniteDifferences) {
  Tensor x = random_normal({3, 7}, DType::f64, 1), gamma = random_normal({7}, DType::f64, 2);
  const Tensor d_out = random_normal({3, 7}, DType::f64, 3), residual = random_normal({3, 7}, DType::f64, 4);
  const auto loss = [&] { return inner_product(normed(x, gamma), d_out) + inner_product(x, residual); };
  const RmsNormGradients found = rms_gradients_of(x, gamma, d_out, residual);
  EXPECT_LT(max_abs_difference(found.x, finite_difference(x, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.gamma, finite_difference(gamma, loss)), 1e-9);
}

class RmsNormOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, RmsNormOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

TEST_P(RmsNormOnEachIsa, EveryTypeAndSizeAgreesWithFloat64) {
  for (const std::int64_t n : {1, 3, 16, 33, 300}) {
    const Dims shape{5, n};
    for (const auto& [dtype, tolerance] :
         {std::pair{DType::f64, 1e-13}, {DType::f32, 5e-6}, {DType::bf16, 0.06}, {DType::f16, 0.008}}) {
      const Tensor x = random_normal(shape, dtype, 1), d_out = random_normal(shape, dtype, 2);
      const Tensor gamma = random_normal({n}, DType::f16, 3), residual = random_normal(shape, dtype, 4);
      const Tensor x64 = copy_of(x, DType::f64), d_out64 = copy_of(d_out, DType::f64);
      EXPECT_LT(max_abs_difference(normed(x, gamma), normed(x64, gamma)), tolerance) << n;
      const RmsNormGradients found = rms_gradients_of(x, gamma, d_out, residual);
      const RmsNormGradients expected = rms_gradients_of(x64, gamma, d_out64, copy_of(residual, DType::f64));
      EXPECT_LT(max_abs_difference(found.x, expected.x), tolerance) << n;
      EXPECT_LT(max_abs_difference(found.gamma, expected.gamma), dtype == DType::f64 ? 1e-12 : 1e-5) << n;
    }
  }
}

TEST(RmsNorm, AnyStridesAndInPlace) {
  const Tensor x = random_normal({9, 6}, DType::f32, 1), d_out = random_normal({6, 9}, DType::f32, 2);
  const ConstTensorView turned = x.view().transposed(0, 1);
  const Tensor straight = copy_of(turned);
  EXPECT_TRUE(same_bits(normed(turned, {}), normed(straight, {})));
  const RmsNormGradients expected = rms_gradients_of(straight, {}, d_out),
                         found = rms_gradients_of(turned, {}, d_out);
  EXPECT_TRUE(same_bits(found.x, expected.x));
  EXPECT_TRUE(same_bits(found.gamma, expected.gamma));
  Tensor over = copy_of(straight);
  rms_norm(over, {}, kRmsEpsilon, over);
  EXPECT_TRUE(same_bits(over, normed(straight, {})));
  Tensor d = copy_of(d_out);
  rms_norm_backward(straight, {}, kRmsEpsilon, d, {.x = d});
  EXPECT_TRUE(same_bits(d, expected.x));
}

TEST(RmsNorm, SameBitsWithAnyThreads) {
  const Tensor x = random_normal({700, 65}, DType::f32, 1), d_out = random_normal({700, 65}, DType::f32, 2);
  set_threads(1);
  const RmsNormGradients expected = rms_gradients_of(x, {}, d_out);
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    const RmsNormGradients found = rms_gradients_of(x, {}, d_out);
    EXPECT_TRUE(same_bits(found.x, expected.x));
    EXPECT_TRUE(same_bits(found.gamma, expected.gamma));
  }
  set_threads(0);
}

TEST(RmsNorm, EmptyInputsAndRefusals) {
  Tensor none(DType::f32, {0, 3}), x(DType::f32, {2, 3}), out(DType::f32, {2, 3}), four(DType::f32, {4}),
      wide(DType::f64, {2, 3});
  rms_norm(none, {}, 0, none);
  Tensor d_gamma = random_normal({3}, DType::f32, 1);
  rms_norm_backward(none, {}, 0, none, {.gamma = d_gamma});
  EXPECT_TRUE(same_bits(d_gamma, Tensor(DType::f32, {3})));
  EXPECT_REFUSES(rms_norm({}, {}, 0, out), "[rms_norm] x is not given");
  EXPECT_REFUSES(rms_norm(x, four, 0, out), "gamma has shape (4,), expected (3,)");
  EXPECT_REFUSES(rms_norm(x, {}, -1, out), "epsilon is -1, expected 0 or more");
  EXPECT_REFUSES(rms_norm(x, {}, 0, wide), "out is f64, expected f32 as x");
  EXPECT_REFUSES(rms_norm_backward(x, {}, 0, four, {.x = out}), "d_out has shape (4,), expected (2, 3)");
  EXPECT_REFUSES(rms_norm_backward(x, {}, 0, x, {.x = out, .gamma = out.view().select(0, 0)}),
                 "d_gamma overlaps d_x in memory");
}

}  // namespace
}  // namespace attend
