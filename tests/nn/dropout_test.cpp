#include <attend/dropout.h>
#include <attend/threads.h>

#include <cmath>

#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

Tensor dropped(ConstTensorView x, const Dropout& how) {
  Tensor out(x.dtype(), x.shape());
  dropout(x, how, out);
  return out;
}

double share_of_zeros(ConstTensorView view) {
  double zeros = 0;
  for (const double value : values_of(view)) zeros += value == 0;
  return zeros / static_cast<double>(view.count());
}

class DropoutOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, DropoutOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

// f64 tosses its coins one by one.
TEST_P(DropoutOnEachIsa, TossesTheSameCoinsAsFloat64) {
  for (const std::int64_t n : {1, 15, 16, 100}) {
    const Tensor x = random_normal({9, n}, DType::f32, 1);
    const Dropout how{.probability = 0.25, .seed = 3, .stream = 4};
    EXPECT_LT(max_abs_difference(dropped(x, how), dropped(copy_of(x, DType::f64), how)), 1e-6);
  }
}

TEST(Dropout, DropsTheShareItIsToldTo) {
  const Tensor x = random_uniform({200, 500}, DType::f32, 1, 1, 2);
  for (const double probability : {0.0, 0.1, 0.5, 0.9}) {
    const Tensor out = dropped(x, {.probability = probability, .seed = 1});
    // Four standard deviations of 100,000 coins.
    EXPECT_NEAR(share_of_zeros(out), probability, 4 * std::sqrt(probability * (1 - probability) / 1e5));
    for (std::size_t i = 0; i < 100; ++i) {
      const float kept = out.values<float>()[i];
      if (kept != 0) {
        EXPECT_FLOAT_EQ(kept, x.values<float>()[i] / static_cast<float>(1 - probability));
      }
    }
  }
  EXPECT_TRUE(same_bits(dropped(x, {}), x));
}

TEST(Dropout, SeedsAndStreamsDiffer) {
  const Tensor x = random_uniform({20, 50}, DType::f32, 1, 1, 2);
  const Dropout how{.probability = 0.5, .seed = 1, .stream = 1};
  EXPECT_TRUE(same_bits(dropped(x, how), dropped(x, how)));
  EXPECT_FALSE(same_bits(dropped(x, how), dropped(x, {.probability = 0.5, .seed = 2, .stream = 1})));
  EXPECT_FALSE(same_bits(dropped(x, how), dropped(x, {.probability = 0.5, .seed = 1, .stream = 2})));
}

TEST(Dropout, ItsGradientIsTheSameCall) {
  Tensor x = random_normal({3, 8}, DType::f64, 1);
  const Tensor d_out = random_normal({3, 8}, DType::f64, 2);
  const Dropout how{.probability = 0.4, .seed = 5};
  const auto loss = [&] { return inner_product(dropped(x, how), d_out); };
  EXPECT_LT(max_abs_difference(dropped(d_out, how), finite_difference(x, loss)), 1e-9);
}

TEST(Dropout, SameBitsWithAnyThreadsStridesAndInPlace) {
  const Tensor x = random_normal({300, 70}, DType::f32, 1);
  const Dropout how{.probability = 0.3, .seed = 7};
  set_threads(1);
  const Tensor expected = dropped(x, how);
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(dropped(x, how), expected));
  }
  set_threads(0);
  const Tensor turned = copy_of(x.view().transposed(0, 1));
  EXPECT_TRUE(same_bits(dropped(turned.view().transposed(0, 1), how), expected));
  Tensor over = copy_of(x);
  dropout(over, how, over);
  EXPECT_TRUE(same_bits(over, expected));
}

TEST(Dropout, Refuses) {
  Tensor x(DType::f32, {2, 3});
  EXPECT_REFUSES(dropout(x, {.probability = 1}, x), "[dropout] the probability is 1, expected one from 0");
  EXPECT_REFUSES(dropout(x, {.probability = std::nan("")}, x), "the probability is nan");
  EXPECT_REFUSES(dropout(x, {}, {}), "out is not given");
}

}  // namespace
}  // namespace attend
