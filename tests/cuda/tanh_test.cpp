#include "cuda/hopper/tanh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace attend {
namespace {

// The bound that the header claims, over every step of 2^-20, in the arithmetic of the kernel.
TEST(CudaTanh, ThePolynomialIsWithinItsBound) {
  double worst = 0;
  for (double x = 0x1p-20; x < 1; x += 0x1p-20) {
    const auto h = static_cast<float>(2 * x);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(h) & cuda::kTooLargeForTanh, 0u);
    const float y = h * cuda::tanh_polynomial(cuda::tanh_terms(), h * h,
                                              [](float a, float b, float c) { return std::fma(a, b, c); });
    worst = std::max(worst, std::abs(static_cast<double>(y) / std::tanh(static_cast<double>(h) / 2) - 1));
  }
  EXPECT_LT(worst, 8e-7);
  EXPECT_GT(worst, 1e-9);  // an approximation
  for (const float h : {2.f, -2.f, 1e30f, -INFINITY, NAN})
    EXPECT_NE(std::bit_cast<std::uint32_t>(h) & cuda::kTooLargeForTanh, 0u) << h;
}

}  // namespace
}  // namespace attend
