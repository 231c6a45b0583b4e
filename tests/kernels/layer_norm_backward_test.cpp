#include "kernels/layer_norm/layer_norm_backward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/layer_norm/layer_norm_reference.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/random.h"

namespace attend::kernels {
namespace {

class LayerNormBackwardKernel : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, LayerNormBackwardKernel, testing::ValuesIn(available_isas()), isa_name);

constexpr float kEpsilon = 1e-5f;

// A row, what reaches it, and the same in float64.
struct Row {
  Row(std::int64_t size, double mean)
      : n(size),
        gamma(random_normal({n}, DType::f32, 3)),
        d_out(random_normal({n}, DType::f32, 4)),
        residual(random_normal({n}, DType::f32, 5)) {
    Tensor wide = random_normal({n}, DType::f64, 1);
    for (double& value : wide.values<double>()) value += mean;
    x = copy_of(wide, DType::f32);
  }
  Tensor backward(bool with_gamma, bool with_residual) const {
    Tensor d_x(DType::f32, {n});
    layer_norm_row_backward(data(x), data(d_out), with_residual ? data(residual) : nullptr, n,
                            with_gamma ? data(gamma) : nullptr, kEpsilon, d_x.values<float>().data());
    return d_x;
  }
  Tensor expected(bool with_gamma, bool with_residual) const {
    const std::vector<double> x64 = values_of(x), d64 = values_of(d_out), r64 = values_of(residual),
                              g64 = values_of(gamma);
    Tensor d_x(DType::f64, {n});
    layer_norm_row_backward_reference(x64.data(), d64.data(), with_residual ? r64.data() : nullptr, n,
                                      with_gamma ? g64.data() : nullptr, static_cast<double>(kEpsilon),
                                      d_x.values<double>().data());
    return d_x;
  }
  static const float* data(const Tensor& tensor) { return tensor.values<float>().data(); }
  std::int64_t n;
  Tensor x, gamma, d_out, residual;
};

TEST_P(LayerNormBackwardKernel, AgreesWithTheReferenceAtEveryLength) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 384, 1000, 4096}) {
    const Row row(n, 0.5);
    for (int given = 0; given < 4; ++given) {
      // Two or three numbers that happen to lie close have a large slope.
      const Tensor expected = row.expected(given & 1, given & 2);
      double size = 1;
      for (const double value : values_of(expected)) size = std::max(size, std::abs(value));
      ASSERT_LT(max_abs_difference(row.backward(given & 1, given & 2), expected),
                (n < 4 ? 3e-5 : 3e-6) * size)
          << n << ' ' << given;
    }
  }
}

TEST_P(LayerNormBackwardKernel, AFarMeanCostsNothing) {
  for (const double mean : {-1e4, 1e4, 1e6}) {
    const Row row(384, mean);
    ASSERT_LT(max_abs_difference(row.backward(true, false), row.expected(true, false)), 1e-5) << mean;
  }
}

TEST_P(LayerNormBackwardKernel, InPlaceGivesTheSameBits) {
  const Row row(131, 0.5);
  const Tensor expected = row.backward(true, true);
  for (int which = 0; which < 3; ++which) {
    Row over(131, 0.5);
    Tensor& target = which == 0 ? over.x : which == 1 ? over.d_out : over.residual;
    layer_norm_row_backward(Row::data(over.x), Row::data(over.d_out), Row::data(over.residual), over.n,
                            Row::data(over.gamma), kEpsilon, target.values<float>().data());
    EXPECT_TRUE(same_bits(target, expected)) << which;
  }
}

TEST_P(LayerNormBackwardKernel, FactorsAreAddedToWhatIsThere) {
  for (const std::int64_t n : {1, 5, 16, 33, 131}) {
    const Row row(n, n == 131 ? 1e4 : 0.5);
    Tensor d_gamma = random_normal({n}, DType::f32, 8), d_beta = random_normal({n}, DType::f32, 9);
    std::vector<double> gamma64 = values_of(d_gamma), beta64 = values_of(d_beta);
    add_layer_norm_factors(Row::data(row.x), Row::data(row.d_out), n, kEpsilon,
                           d_gamma.values<float>().data(), d_beta.values<float>().data());
    add_layer_norm_factors(Row::data(row.x), Row::data(row.d_out), n, kEpsilon, nullptr, nullptr);
    add_layer_norm_factors_reference(values_of(row.x).data(), values_of(row.d_out).data(), n,
                                     static_cast<double>(kEpsilon), gamma64.data(), beta64.data());
    for (std::size_t i = 0; i < gamma64.size(); ++i) {
      ASSERT_NEAR(d_gamma.values<float>()[i], gamma64[i], 5e-6) << n;
      ASSERT_NEAR(d_beta.values<float>()[i], beta64[i], 5e-7) << n;
    }
  }
}

TEST_P(LayerNormBackwardKernel, NaNIsNotHidden) {
  for (std::size_t place = 0; place < 37; ++place) {
    for (const bool in_x : {false, true}) {
      std::vector<float> x(37, 1.0f), d_out(37, 1.0f), d_x(37);
      x[3] = 2;
      (in_x ? x : d_out)[place] = NAN;
      layer_norm_row_backward(x.data(), d_out.data(), nullptr, 37, nullptr, kEpsilon, d_x.data());
      for (const float value : d_x) ASSERT_TRUE(std::isnan(value)) << place;
    }
  }
}

}  // namespace
}  // namespace attend::kernels
