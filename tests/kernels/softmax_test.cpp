#include "kernels/softmax/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/softmax/softmax_reference.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/finite_difference.h"
#include "support/random.h"

namespace attend::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class SoftmaxKernel : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, SoftmaxKernel, testing::ValuesIn(available_isas()), isa_name);

std::vector<float> softmax_of(const std::vector<float>& x) {
  std::vector<float> out(x.size());
  softmax_row(x.data(), static_cast<std::int64_t>(x.size()), out.data());
  return out;
}

// Every length around the lanes of the loops, and some that are long.
TEST_P(SoftmaxKernel, AgreesWithTheReference) {
  std::vector<std::int64_t> lengths(70);
  std::iota(lengths.begin(), lengths.end(), 0);
  lengths.insert(lengths.end(), {4096, 4099, 100'003});
  for (const std::int64_t n : lengths) {
    for (const double deviation : {0.1, 3.0, 40.0}) {
      const Tensor x = random_normal({n}, DType::f32, 17, deviation);
      Tensor out(DType::f32, {n});
      softmax_row(x.values<float>().data(), n, out.values<float>().data());
      Tensor expected = copy_of(x, DType::f64);
      softmax_row_reference(expected.values<double>().data(), n, expected.values<double>().data());
      for (std::int64_t i = 0; i < n; ++i) {
        const double wanted = expected.values<double>()[static_cast<std::size_t>(i)];
        // 4 ulp, and what rounding x - max to f32 costs: half an ulp of a number that is at most
        // -log(wanted).
        const double tolerance = (5e-7 - 0x1p-24 * std::log(wanted + 1e-300)) * wanted + 2e-38;
        ASSERT_NEAR(out.values<float>()[static_cast<std::size_t>(i)], wanted, tolerance) << n << ' ' << i;
      }
    }
  }
}

TEST_P(SoftmaxKernel, RowsAddUpToOne) {
  for (const std::int64_t n : {1, 100, 4096, 65'536, 1'000'000}) {
    const Tensor x = random_normal({n}, DType::f32, 5);
    const std::vector<float> out = softmax_of({x.values<float>().begin(), x.values<float>().end()});
    EXPECT_NEAR(std::accumulate(out.begin(), out.end(), 0.0), 1.0, 1e-6) << n;
  }
}

TEST_P(SoftmaxKernel, InPlaceGivesTheSameBits) {
  Tensor x = random_normal({1003}, DType::f32, 8);
  Tensor out(DType::f32, {1003});
  softmax_row(x.values<float>().data(), 1003, out.values<float>().data());
  softmax_row(x.values<float>().data(), 1003, x.values<float>().data());
  EXPECT_TRUE(same_bits(x, out));
}

TEST_P(SoftmaxKernel, Edges) {
  EXPECT_EQ(softmax_of({}), std::vector<float>{});
  EXPECT_EQ(softmax_of({-7.0f}), std::vector<float>{1.0f});
  EXPECT_EQ(softmax_of({-kInfinity, -kInfinity, -kInfinity}), std::vector<float>(3, 0.0f));
  EXPECT_EQ(softmax_of({-kInfinity, 2.0f, -kInfinity, 2.0f}), (std::vector<float>{0, 0.5f, 0, 0.5f}));
  EXPECT_EQ(softmax_of({-3e38f, 3e38f}), (std::vector<float>{0, 1}));
  EXPECT_EQ(softmax_of({1e38f, 1e38f}), (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(softmax_of({-1e38f, -1e38f}), (std::vector<float>{0.5f, 0.5f}));
}

// At every place, so that no lane or tail forgets it; also when there is nothing else but -inf.
TEST_P(SoftmaxKernel, NaNMakesTheRowNaN) {
  for (const float rest : {0.0f, -kInfinity}) {
    for (std::size_t place = 0; place < 37; ++place) {
      for (const float bad : {kNaN, kInfinity}) {
        std::vector<float> x(37, rest);
        x[place] = bad;
        for (const float value : softmax_of(x)) ASSERT_TRUE(std::isnan(value)) << place;
      }
    }
  }
}

TEST(SoftmaxReference, Edges) {
  const auto softmax_of_doubles = [](std::vector<double> x) {
    softmax_row_reference(x.data(), static_cast<std::int64_t>(x.size()), x.data());
    return x;
  };
  EXPECT_EQ(softmax_of_doubles({}), std::vector<double>{});
  EXPECT_EQ(softmax_of_doubles({-HUGE_VAL, -HUGE_VAL}), (std::vector<double>{0, 0}));
  EXPECT_EQ(softmax_of_doubles({-HUGE_VAL, 1e308, 1e308}), (std::vector<double>{0, 0.5, 0.5}));
  EXPECT_TRUE(std::isnan(softmax_of_doubles({0, NAN})[0]));
  EXPECT_TRUE(std::isnan(softmax_of_doubles({-HUGE_VAL, NAN})[0]));
}

TEST(SoftmaxReference, GradientAgreesWithFiniteDifferences) {
  constexpr std::int64_t kSize = 9;
  Tensor x = random_normal({kSize}, DType::f64, 1);
  const Tensor d_weights = random_normal({kSize}, DType::f64, 2);
  Tensor weights(DType::f64, {kSize}), d_x(DType::f64, {kSize});
  const auto forward = [&] {
    softmax_row_reference(x.values<double>().data(), kSize, weights.values<double>().data());
    return inner_product(weights, d_weights);
  };
  const Tensor expected = finite_difference(x, forward);
  forward();
  softmax_row_backward_reference(weights.values<double>().data(), d_weights.values<double>().data(), kSize,
                                 d_x.values<double>().data());
  EXPECT_LT(max_abs_difference(d_x, expected), 1e-10);
}

}  // namespace
}  // namespace attend::kernels
