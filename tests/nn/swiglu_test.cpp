#include <attend/swiglu.h>
#include <attend/threads.h>

#include <utility>

#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

Tensor gated(ConstTensorView gate, ConstTensorView up) {
  Tensor out(gate.dtype(), gate.shape());
  swiglu(gate, up, out);
  return out;
}

struct SwigluGradients {
  Tensor gate, up;
};

SwigluGradients swiglu_gradients_of(ConstTensorView gate, ConstTensorView up, ConstTensorView d_out) {
  SwigluGradients result{Tensor(gate.dtype(), gate.shape()), Tensor(gate.dtype(), gate.shape())};
  swiglu_backward(gate, up, d_out, result.gate, result.up);
  return result;
}

TEST(Swiglu, KnownValuesAndFarAway) {
  const Tensor gate = Tensor::from<float>({5}, {0, 1, -1, 100, -100});
  const Tensor up = Tensor::from<float>({5}, {7, 2, 2, 1, 1});
  const Tensor out = gated(gate, up);
  const auto values = out.values<float>();
  EXPECT_EQ(values[0], 0);
  EXPECT_NEAR(values[1], 2 * 0.7310585786, 1e-6);
  EXPECT_NEAR(values[2], -2 * 0.2689414214, 1e-6);
  EXPECT_EQ(values[3], 100);
  EXPECT_NEAR(values[4], 0, 1e-30);
}

TEST(Swiglu, Float64AgreesWithFiniteDifferences) {
  Tensor gate = random_normal({3, 5}, DType::f64, 1), up = random_normal({3, 5}, DType::f64, 2);
  const Tensor d_out = random_normal({3, 5}, DType::f64, 3);
  const auto loss = [&] { return inner_product(gated(gate, up), d_out); };
  const SwigluGradients found = swiglu_gradients_of(gate, up, d_out);
  EXPECT_LT(max_abs_difference(found.gate, finite_difference(gate, loss)), 1e-9);
  EXPECT_LT(max_abs_difference(found.up, finite_difference(up, loss)), 1e-9);
}

class SwigluOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, SwigluOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

TEST_P(SwigluOnEachIsa, EveryTypeAndSizeAgreesWithFloat64) {
  for (const std::int64_t n : {1, 7, 16, 67}) {
    for (const auto& [dtype, tolerance] :
         {std::pair{DType::f64, 1e-15}, {DType::f32, 3e-6}, {DType::bf16, 0.05}, {DType::f16, 0.008}}) {
      // The halves of one product, as a layer has them.
      const Tensor both = random_normal({4, 2 * n}, dtype, 1), d_out = random_normal({4, n}, dtype, 2);
      const ConstTensorView gate = both.view().slice(1, 0, n), up = both.view().slice(1, n, 2 * n);
      const Tensor gate64 = copy_of(gate, DType::f64), up64 = copy_of(up, DType::f64);
      EXPECT_LE(max_abs_difference(gated(gate, up), gated(gate64, up64)), tolerance);
      Tensor d_both(dtype, {4, 2 * n});
      swiglu_backward(gate, up, d_out, d_both.view().slice(1, 0, n), d_both.view().slice(1, n, 2 * n));
      const SwigluGradients expected = swiglu_gradients_of(gate64, up64, copy_of(d_out, DType::f64));
      EXPECT_LE(max_abs_difference(d_both.view().slice(1, 0, n), expected.gate), tolerance);
      EXPECT_LE(max_abs_difference(d_both.view().slice(1, n, 2 * n), expected.up), tolerance);
    }
  }
}

TEST(Swiglu, StridesThreadsAndEmptyInputs) {
  const Tensor gate = random_normal({70, 90}, DType::f32, 1), up = random_normal({90, 70}, DType::f32, 2);
  const Tensor d_out = random_normal({90, 70}, DType::f32, 3);
  const ConstTensorView turned = gate.view().transposed(0, 1);
  set_threads(1);
  const SwigluGradients expected = swiglu_gradients_of(copy_of(turned), up, d_out);
  for (const int count : {2, 3}) {
    set_threads(count);
    const SwigluGradients found = swiglu_gradients_of(turned, up, d_out);
    EXPECT_TRUE(same_bits(found.gate, expected.gate));
    EXPECT_TRUE(same_bits(found.up, expected.up));
  }
  set_threads(0);
  Tensor over = copy_of(up);
  swiglu(turned, over, over);
  EXPECT_TRUE(same_bits(over, gated(turned, up)));
  EXPECT_EQ(gated(Tensor(DType::f32, {0, 3}), Tensor(DType::f32, {0, 3})).count(), 0);
  EXPECT_EQ(
      swiglu_gradients_of(Tensor(DType::f32, {3, 0}), Tensor(DType::f32, {3, 0}), Tensor(DType::f32, {3, 0}))
          .gate.count(),
      0);
}

TEST(Swiglu, Refuses) {
  Tensor a(DType::f32, {2, 3}), b(DType::f32, {2, 3}), c(DType::f32, {2, 3}), wide(DType::f32, {2, 4});
  EXPECT_REFUSES(swiglu(a, wide, c), "[swiglu] up has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(swiglu(a, b, {}), "[swiglu] out is not given");
  EXPECT_REFUSES(swiglu_backward(a, b, c, a, wide), "d_up has shape (2, 4), expected (2, 3)");
  EXPECT_REFUSES(swiglu_backward(a, b, c, a, b), "d_gate overlaps gate in memory");
}

}  // namespace
}  // namespace attend
