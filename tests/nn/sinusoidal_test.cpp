#include <attend/positions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/compare.h"
#include "support/refuses.h"

namespace attend {
namespace {

// base 100 and d 4 make the wavelengths 1 and 10.
TEST(SinusoidalPositions, KnownValues) {
  Tensor out(DType::f64, {3, 4});
  sinusoidal_positions(out, 0, 100);
  const Tensor expected = Tensor::from<double>(
      {3, 4}, {0, 1, 0, 1,  //
               0.8414709848078965, 0.5403023058681398, 0.0998334166468282, 0.9950041652780258,
               0.9092974268256817, -0.4161468365471424, 0.1986693307950612, 0.9800665778412416});
  EXPECT_LT(max_abs_difference(out, expected), 1e-15);
}

// Wavelengths 1, base^(2/5) and base^(4/5); the third pair has a sine only.
TEST(SinusoidalPositions, OddSizeEndsInASine) {
  Tensor out(DType::f64, {1, 5});
  sinusoidal_positions(out, 7, 10000);
  const double middle = 7 / std::exp(0.4 * std::log(10000.0)), last = 7 / std::exp(0.8 * std::log(10000.0));
  const Tensor expected = Tensor::from<double>(
      {1, 5}, {std::sin(7.0), std::cos(7.0), std::sin(middle), std::cos(middle), std::sin(last)});
  EXPECT_LT(max_abs_difference(out, expected), 1e-14);
  Tensor one(DType::f64, {2, 1});
  sinusoidal_positions(one, 3);
  EXPECT_EQ(one.values<double>()[1], std::sin(4.0));
}

TEST(SinusoidalPositions, StartAndStrides) {
  Tensor whole(DType::f32, {20, 6}), part(DType::f32, {6, 8});
  sinusoidal_positions(whole);
  sinusoidal_positions(part.view().transposed(0, 1), 12);
  EXPECT_TRUE(same_bits(part.view().transposed(0, 1), whole.view().slice(0, 12, 20)));
  Tensor before(DType::f64, {1, 2});
  sinusoidal_positions(before, -2);
  EXPECT_EQ(before.values<double>()[0], std::sin(-2.0));
}

// An f32 angle would be off by 0.004 radians here.
TEST(SinusoidalPositions, StaysExactFarOut) {
  Tensor out(DType::f32, {1, 4}), half(DType::bf16, {1, 4});
  sinusoidal_positions(out, 1'000'003, 100);
  EXPECT_NEAR(out.values<float>()[2], std::sin(100000.3), 1e-7);
  sinusoidal_positions(half, 1'000'003, 100);
  EXPECT_NEAR(to_float(half.values<bfloat16>()[2]), std::sin(100000.3), 2e-3);
}

TEST(SinusoidalPositions, EmptyAndRefused) {
  Tensor none(DType::f32, {0, 4}), thin(DType::f32, {4, 0});
  sinusoidal_positions(none);
  sinusoidal_positions(thin);
  Tensor out(DType::f32, {2, 4}), flags(DType::boolean, {2, 4});
  EXPECT_REFUSES(sinusoidal_positions(out, 0, NAN), "[sinusoidal_positions] base is nan");
  EXPECT_REFUSES(sinusoidal_positions(out, 0, 0), "[sinusoidal_positions] base is 0");
  EXPECT_REFUSES(sinusoidal_positions(out, 0, -5), "[sinusoidal_positions] base is -5");
  EXPECT_REFUSES(sinusoidal_positions(out, 0, HUGE_VAL), "[sinusoidal_positions] base is inf");
  EXPECT_REFUSES(sinusoidal_positions(out.view().select(0, 0)), "expected 2 dimensions");
  EXPECT_REFUSES(sinusoidal_positions(flags), "out is boolean");
  EXPECT_REFUSES(sinusoidal_positions({}), "out is not given");
  EXPECT_REFUSES(sinusoidal_positions(out, std::numeric_limits<std::int64_t>::max()), "do not fit 64 bits");
}

}  // namespace
}  // namespace attend
