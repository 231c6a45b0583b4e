#include "kernels/layer_norm/layer_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/layer_norm/layer_norm_reference.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/random.h"

namespace attend::kernels {
namespace {

class LayerNormKernel : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, LayerNormKernel, testing::ValuesIn(available_isas()), isa_name);

const float* data_of(const Tensor& tensor) { return tensor.values<float>().data(); }
const double* doubles_of(const Tensor& tensor) { return tensor.values<double>().data(); }

TEST_P(LayerNormKernel, AgreesWithTheReferenceAtEveryLength) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 384, 1000, 4096}) {
    const Tensor x = random_normal({n}, DType::f32, 1), residual = random_normal({n}, DType::f32, 2);
    const Tensor gamma = random_normal({n}, DType::f32, 3), beta = random_normal({n}, DType::f32, 4);
    const Tensor wide_x = copy_of(x, DType::f64), wide_residual = copy_of(residual, DType::f64);
    const Tensor wide_gamma = copy_of(gamma, DType::f64), wide_beta = copy_of(beta, DType::f64);
    for (int given = 0; given < 8; ++given) {
      const bool r = given & 1, g = given & 2, b = given & 4;
      Tensor out(DType::f32, {n}), expected(DType::f64, {n});
      const auto found =
          layer_norm_row(data_of(x), r ? data_of(residual) : nullptr, n, g ? data_of(gamma) : nullptr,
                         b ? data_of(beta) : nullptr, 1e-5f, out.values<float>().data());
      const auto moments =
          layer_norm_row_reference(doubles_of(wide_x), r ? doubles_of(wide_residual) : nullptr, n,
                                   g ? doubles_of(wide_gamma) : nullptr, b ? doubles_of(wide_beta) : nullptr,
                                   static_cast<double>(1e-5f), expected.values<double>().data());
      // The sum of x and residual is rounded to f32, 2e-7 of a deviation; two numbers that lie close together
      // make more of it.
      ASSERT_LT(max_abs_difference(out, expected), n < 4 ? 2e-5 : 3e-6) << n << ' ' << given;
      ASSERT_NEAR(found.mean, moments.mean, 3e-7) << n << ' ' << given;
      ASSERT_NEAR(found.inverse_deviation / moments.inverse_deviation, 1, n < 4 ? 1e-5 : 1e-6)
          << n << ' ' << given;
    }
  }
}

// A mean of 1e4 and a deviation of 1: the mean itself is an f32 only to 1e-3.
TEST_P(LayerNormKernel, AFarMeanCostsNothing) {
  for (const double mean : {-1e4, 1e4, 1e6}) {
    for (const std::int64_t n : {17, 384, 4096}) {
      Tensor wide = random_normal({n}, DType::f64, 5);
      for (double& value : wide.values<double>()) value += mean;
      const Tensor x = copy_of(wide, DType::f32);
      wide = copy_of(x, DType::f64);
      Tensor out(DType::f32, {n}), expected(DType::f64, {n});
      layer_norm_row(data_of(x), nullptr, n, nullptr, nullptr, 1e-12f, out.values<float>().data());
      layer_norm_row_reference(doubles_of(wide), nullptr, n, nullptr, nullptr, static_cast<double>(1e-12f),
                               expected.values<double>().data());
      ASSERT_LT(max_abs_difference(out, expected), 4e-6) << mean << ' ' << n;
    }
  }
}

TEST_P(LayerNormKernel, InPlaceGivesTheSameBits) {
  const std::int64_t n = 131;
  const Tensor x = random_normal({n}, DType::f32, 1), residual = random_normal({n}, DType::f32, 2);
  Tensor expected(DType::f32, {n}), in_x = copy_of(x), in_residual = copy_of(residual);
  layer_norm_row(data_of(x), data_of(residual), n, nullptr, nullptr, 1e-5f, expected.values<float>().data());
  layer_norm_row(data_of(in_x), data_of(residual), n, nullptr, nullptr, 1e-5f, in_x.values<float>().data());
  layer_norm_row(data_of(x), data_of(in_residual), n, nullptr, nullptr, 1e-5f,
                 in_residual.values<float>().data());
  EXPECT_TRUE(same_bits(in_x, expected));
  EXPECT_TRUE(same_bits(in_residual, expected));
}

TEST_P(LayerNormKernel, EqualNumbersAndNaN) {
  std::vector<float> x(37, 12345.678f), out(37);
  layer_norm_row(x.data(), nullptr, 37, nullptr, nullptr, 1e-5f, out.data());
  for (const float value : out) EXPECT_NEAR(value, 0, 1e-6);
  for (std::size_t place = 0; place < 37; ++place) {
    std::vector<float> bad(37, 1.0f);
    bad[place] = NAN;
    layer_norm_row(bad.data(), nullptr, 37, nullptr, nullptr, 1e-5f, out.data());
    for (const float value : out) ASSERT_TRUE(std::isnan(value)) << place;
  }
}

TEST(LayerNormReference, KnownValues) {
  // Mean 3, variance 2, so 1 becomes -2 / sqrt(2).
  const double x[] = {1, 2, 3, 4, 5}, gamma[] = {1, 1, 1, 1, 2}, beta[] = {0, 0, 0, 0, 10};
  double out[5];
  layer_norm_row_reference(x, nullptr, 5, gamma, beta, 0, out);
  const double expected[] = {-std::sqrt(2), -std::sqrt(0.5), 0, std::sqrt(0.5), 10 + 2 * std::sqrt(2)};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(out[i], expected[i], 1e-15);
}

}  // namespace
}  // namespace attend::kernels
