#include "cuda/hopper/exp2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

// The bound that the header claims, over every step of 2^-20.
TEST(CudaExp2, ThePolynomialIsWithinItsBound) {
  double worst = 0, mean = 0;
  int count = 0;
  for (double r = -0.5; r <= 0.5; r += 0x1p-20, ++count) {
    const double error = cuda::exp2_polynomial(static_cast<float>(r)) / std::exp2(r) - 1;
    worst = std::max(worst, std::abs(error));
    mean += error;
  }
  EXPECT_LT(worst, 3e-6);
  EXPECT_LT(std::abs(mean / count), 3e-7);  // a sum of many is better still
}

}  // namespace
}  // namespace attend
