#include "cuda/hopper/strange.h"

#include <attend/dtype.h>
#include <gtest/gtest.h>

#include <cmath>

namespace attend {
namespace {

// Every number of both types, in either half of a word, beside an ordinary and a strange one.
TEST(CudaStrange, IsFoundAndReplacedInEitherHalf) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (const bool half : {false, true}) {
      const cuda::ExponentBits exponents = half ? cuda::kF16Exponents : cuda::kBf16Exponents;
      const auto value = static_cast<std::uint16_t>(bits);
      const bool strange = !std::isfinite(half ? to_float(float16{value}) : to_float(bfloat16{value}));
      const std::uint32_t infinity = half ? 0x7C00 : 0x7F80, one = half ? 0x3C00 : 0x3F80;
      ASSERT_EQ(cuda::strange_halves(bits | one << 16, exponents) != 0, strange) << bits;
      ASSERT_EQ(cuda::strange_halves(one | bits << 16, exponents) != 0, strange) << bits;
      ASSERT_EQ(cuda::without_strange(bits | one << 16, exponents), (strange ? 0 : bits) | one << 16);
      ASSERT_EQ(cuda::without_strange(one | bits << 16, exponents), one | (strange ? 0 : bits << 16));
      ASSERT_EQ(cuda::without_strange(infinity | bits << 16, exponents), strange ? 0 : bits << 16);
    }
  }
}

}  // namespace
}  // namespace attend
