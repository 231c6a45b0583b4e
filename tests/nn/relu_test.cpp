#include <attend/relu.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/compare.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr float kLimitless = std::numeric_limits<float>::infinity();

TEST(Relu, KeepsWhatIsNotNegative) {
  const Tensor x = Tensor::from<float>({5}, {-2, -0.0F, 3, -kLimitless, kLimitless});
  Tensor out(DType::f32, {5});
  relu(x, out);
  EXPECT_TRUE(same_bits(out, Tensor::from<float>({5}, {0, -0.0F, 3, 0, kLimitless})));
  Tensor nan = Tensor::from<float>({1}, {std::nanf("")});
  relu(nan, nan);
  EXPECT_TRUE(std::isnan(nan.values<float>()[0]));
}

TEST(Relu, TheGradientPassesWhereXIsPositive) {
  const Tensor x = Tensor::from<float>({4}, {-2, 0, 3, -1});
  const Tensor d_out = Tensor::from<float>({4}, {5, 6, 7, kLimitless});
  Tensor d_x(DType::f32, {4});
  relu_backward(x, d_out, d_x);
  EXPECT_TRUE(same_bits(d_x, Tensor::from<float>({4}, {0, 0, 7, 0})));
}

TEST(Relu, AnyStridesAndTypes) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Tensor x = random_normal({5, 3}, dtype, 1), d = random_normal({5, 3}, dtype, 2);
    Tensor out(dtype, {3, 5}), d_x(dtype, {3, 5});
    relu(x.view().transposed(0, 1), out);
    relu_backward(x.view().transposed(0, 1), d.view().transposed(0, 1), d_x);
    const Tensor wide = copy_of(x, DType::f64), wide_d = copy_of(d, DType::f64);
    const Tensor found = copy_of(out, DType::f64), found_d = copy_of(d_x, DType::f64);
    for (std::size_t i = 0; i < 15; ++i) {
      const std::size_t j = i % 5 * 3 + i / 5;
      const double value = wide.values<double>()[j];
      EXPECT_EQ(found.values<double>()[i], value < 0 ? 0 : value);
      EXPECT_EQ(found_d.values<double>()[i], value > 0 ? wide_d.values<double>()[j] : 0);
    }
  }
}

TEST(Relu, Refuses) {
  Tensor x(DType::f32, {4}), doubles(DType::f64, {4});
  EXPECT_REFUSES(relu(x, doubles), "[relu] out is f64, expected f32 as x");
  EXPECT_REFUSES(relu_backward(x, doubles, x), "[relu_backward] d_out is f64, expected f32 as x");
}

}  // namespace
}  // namespace attend
