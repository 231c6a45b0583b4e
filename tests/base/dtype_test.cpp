#include <attend/dtype.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attend {
namespace {

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::f16), 2u);
  EXPECT_EQ(size_of(DType::boolean), 1u);
  EXPECT_EQ(size_of(DType::i64), 8u);
  EXPECT_EQ(name_of(DType::bf16), "bf16");
  EXPECT_EQ(name_of(DType::i64), "i64");
  EXPECT_EQ(dtype_of<std::int64_t>(), DType::i64);
}

TEST(DType, OnlyNumbersWithAFractionAreFloats) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) EXPECT_TRUE(is_float(dtype));
  for (const DType dtype : {DType::boolean, DType::i64}) EXPECT_FALSE(is_float(dtype));
}

// Every 16-bit pattern widens and comes back as itself (a NaN as some NaN).
TEST(DType, EveryBfloat16SurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bfloat16 value{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_bfloat16(wide))));
    } else {
      ASSERT_EQ(to_bfloat16(wide).bits, bits);
    }
  }
}

TEST(DType, EveryFloat16SurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float16 value{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_float16(wide))));
    } else {
      ASSERT_EQ(to_float16(wide).bits, bits) << wide;
    }
  }
}

// Between two neighbours: below the middle rounds down, above it up, and the middle itself to the even one.
template <class Half, Half (*Round)(float)>
void check_rounding(std::uint16_t last) {
  for (std::uint16_t bits = 0; bits < last; ++bits) {
    const float low = to_float(Half{bits});
    const float high = to_float(Half{static_cast<std::uint16_t>(bits + 1)});
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(Round(middle).bits, bits % 2 == 0 ? bits : bits + 1) << middle;
    ASSERT_EQ(Round(std::nextafter(middle, low)).bits, bits) << middle;
    ASSERT_EQ(Round(std::nextafter(middle, high)).bits, bits + 1) << middle;
  }
}

TEST(DType, RoundsToNearestEven) {
  check_rounding<float16, to_float16>(0x7bff);
  check_rounding<bfloat16, to_bfloat16>(0x7f7f);
}

TEST(DType, OverflowIsInfinity) {
  EXPECT_EQ(to_float16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_float16(-1e9f).bits, 0xfc00);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

}  // namespace
}  // namespace attend
