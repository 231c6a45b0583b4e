#include "doctor/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attend::doctor {
namespace {

TEST(Agreement, OfEqualVectors) {
  const Tensor a = Tensor::from<double>({2, 2}, {3, 4, 0, 1});
  const Agreement agreement = compare(a, a);
  EXPECT_EQ(agreement.distance, 0);
  EXPECT_NEAR(agreement.worst_cosine, 1, 1e-15);
  EXPECT_EQ(agreement.verdict(), Verdict::fp32_noise);
}

TEST(Agreement, CosinesDistancesAndErrors) {
  const Tensor ours = Tensor::from<float>({3, 2}, {3, 4, 1, 0, 6, 8});
  const Tensor theirs = Tensor::from<double>({3, 2}, {3, 4, 0, 2, 3, 4});
  const Agreement agreement = compare(ours, theirs);
  EXPECT_EQ(agreement.texts, 3);
  EXPECT_NEAR(agreement.worst_cosine, 0, 1e-15);
  EXPECT_EQ(agreement.worst_text, 1);
  EXPECT_NEAR(agreement.median_cosine, 1, 1e-15);
  EXPECT_EQ(agreement.max_abs_error, 4);
  EXPECT_NEAR(agreement.distance, std::sqrt(5) / 2, 1e-15);  // text 1; text 2 is 5 / 5 off
  EXPECT_NEAR(agreement.direction, std::sqrt(2), 1e-15);
  EXPECT_FALSE(agreement.agrees());
}

TEST(Agreement, ScalingKeepsTheDirection) {
  const Agreement agreement =
      compare(Tensor::from<float>({1, 3}, {1, 2, 2}), Tensor::from<double>({1, 3}, {3, 6, 6}));
  EXPECT_TRUE(agreement.same_direction());
  EXPECT_FALSE(agreement.agrees());
}

TEST(Agreement, ZerosAndNothing) {
  const Tensor zero = Tensor::from<double>({1, 2}, {0, 0}), one = Tensor::from<double>({1, 2}, {0, 1});
  EXPECT_TRUE(compare(zero, zero).agrees());
  EXPECT_EQ(compare(zero, one).worst_cosine, 0);
  EXPECT_EQ(compare(one, zero).worst_cosine, 0);
  EXPECT_FALSE(compare(one, zero).agrees());
  EXPECT_TRUE(compare(Tensor(DType::f32, {0, 5}), Tensor(DType::f64, {0, 5})).agrees());
}

TEST(Agreement, NotANumberNeverAgrees) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Agreement agreement =
      compare(Tensor::from<float>({2, 2}, {1, 1, 1, nan}), Tensor::from<double>({2, 2}, {1, 1, 1, 1}));
  EXPECT_FALSE(agreement.agrees());
  EXPECT_EQ(agreement.worst_text, 1);
  EXPECT_TRUE(std::isnan(agreement.max_abs_error));
}

TEST(Agreement, VerdictsByDistance) {
  const Tensor reference = Tensor::from<double>({1, 2}, {1, 0});
  const auto verdict = [&](double off) {
    return compare(Tensor::from<double>({1, 2}, {1, off}), reference).verdict();
  };
  EXPECT_EQ(verdict(1e-6), Verdict::fp32_noise);
  EXPECT_EQ(verdict(1e-3), Verdict::f16_noise);
  EXPECT_EQ(verdict(1e-2), Verdict::differs);
}

TEST(Agreement, NumbersOfSixteenBits) {
  const auto type = [](double x) { return narrow_type_of(Tensor::from<double>({1, 3}, {0.5, -0.25, x})); };
  EXPECT_EQ(type(1 + 0x1p-10), DType::f16);
  EXPECT_EQ(type(1 + 0x1p-7), DType::bf16);
  EXPECT_EQ(type(1e30), std::nullopt);
  EXPECT_EQ(type(0x1p100), DType::bf16);
  EXPECT_EQ(type(0.1), std::nullopt);
}

}  // namespace
}  // namespace attend::doctor
