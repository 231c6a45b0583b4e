#include <attend/cross_entropy.h>
#include <attend/threads.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

const std::vector<std::int32_t> kTargets{2, kNoTarget, 0, 4};

TEST(CrossEntropy, KnownValues) {
  const Tensor logits = Tensor::from<float>({2, 2}, {0, 0, 1000, 0});
  const std::vector<std::int32_t> targets{1, 1};
  Tensor d(DType::f32, {2, 2});
  const CrossEntropy found = cross_entropy(logits, targets, 2, d);
  EXPECT_NEAR(found.loss, std::log(2.0) + 1000, 1e-9);  // finite although exp(-1000) is 0
  EXPECT_EQ(found.counted, 2);
  EXPECT_EQ(found.right, 0);
  EXPECT_TRUE(same_bits(d, Tensor::from<float>({2, 2}, {1, -1, 2, -2})));
}

TEST(CrossEntropy, Float64AgreesWithFiniteDifferences) {
  Tensor logits = random_normal({4, 5}, DType::f64, 1, 2);
  const auto loss = [&] { return 0.3 * cross_entropy(logits, kTargets, 1, {}).loss; };
  Tensor d = random_normal({4, 5}, DType::f64, 9);
  const CrossEntropy found = cross_entropy(logits, kTargets, 0.3, d);
  EXPECT_EQ(found.counted, 3);
  EXPECT_LT(max_abs_difference(d, finite_difference(logits, loss)), 1e-9);
}

class CrossEntropyOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, CrossEntropyOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

TEST_P(CrossEntropyOnEachIsa, AgreesWithFloat64) {
  for (const std::int64_t n : {5, 16, 333}) {
    const Tensor logits = random_normal({4, n}, DType::f32, 1, 3), wide = copy_of(logits, DType::f64);
    Tensor d(DType::f32, {4, n}), d64(DType::f64, {4, n});
    const CrossEntropy found = cross_entropy(logits, kTargets, 1, d);
    const CrossEntropy expected = cross_entropy(wide, kTargets, 1, d64);
    EXPECT_NEAR(found.loss, expected.loss, 1e-5);
    EXPECT_EQ(found.right, expected.right);
    EXPECT_LT(max_abs_difference(d, d64), 1e-6);
    EXPECT_EQ(cross_entropy(logits, kTargets, 1, {}).loss, found.loss);
  }
}

TEST(CrossEntropy, SameBitsWithAnyThreadsAndInPlace) {
  const Tensor logits = random_normal({600, 50}, DType::f32, 1);
  std::vector<std::int32_t> targets(600);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<std::int32_t>(i % 50);
  set_threads(1);
  Tensor expected(DType::f32, {600, 50});
  const double loss = cross_entropy(logits, targets, 0.5, expected).loss;
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    Tensor over = copy_of(logits);
    EXPECT_EQ(cross_entropy(over, targets, 0.5, over).loss, loss);
    EXPECT_TRUE(same_bits(over, expected));
  }
  set_threads(0);
}

TEST(CrossEntropy, NotANumberIsNotHidden) {
  Tensor logits = random_normal({4, 5}, DType::f32, 1);
  logits.values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(cross_entropy(logits, kTargets, 1, {}).loss));
}

TEST(CrossEntropy, EmptyInputsAndRefusals) {
  EXPECT_EQ(cross_entropy(Tensor(DType::f32, {0, 5}), {}, 1, {}).counted, 0);
  const Tensor logits(DType::f32, {4, 4}), half(DType::bf16, {4, 5});
  Tensor narrow(DType::f32, {4, 3});
  EXPECT_REFUSES(cross_entropy(logits, kTargets, 1, {}), "target 4 of row 3 is outside the 4 logits");
  EXPECT_REFUSES(cross_entropy(logits, {}, 1, {}), "[cross_entropy] got 0 targets for 4 rows");
  EXPECT_REFUSES(cross_entropy(half, kTargets, 1, {}), "logits is bf16, expected f32 or f64");
  const std::vector<std::int32_t> zeros(4);
  EXPECT_REFUSES(cross_entropy(logits, zeros, 1, narrow), "d_logits has shape (4, 3), expected (4, 4)");
}

}  // namespace
}  // namespace attend
