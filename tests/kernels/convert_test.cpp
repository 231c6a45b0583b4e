// Every 16-bit number there is, and f32 numbers around every place where rounding changes its mind, on every
// instruction set: the vectors must give the bits of the scalar conversions.
#include "kernels/convert/convert.h"

#include <attend/isa.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/isa.h"

namespace attend {
namespace {

class Convert : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override { set_isa(""); }
};

INSTANTIATE_TEST_SUITE_P(All, Convert, testing::ValuesIn(available_isas()),
                         [](const auto& set) { return set.param; });

bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

template <class Half>
void expect_every_number_widens() {
  std::vector<Half> halves(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) halves[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> wide(65536);
  kernels::widen_row(halves.data(), 65536, wide.data());
  for (std::uint32_t i = 0; i < 65536; ++i) {
    ASSERT_TRUE(same(wide[i], to_float(halves[i]))) << i << ": " << wide[i] << ", " << to_float(halves[i]);
  }
}

TEST_P(Convert, EveryBf16Widens) { expect_every_number_widens<bfloat16>(); }
TEST_P(Convert, EveryF16Widens) { expect_every_number_widens<float16>(); }

// Each f16 and bf16, the halfway points between neighbours, and the f32 on either side of those.
std::vector<float> telling_numbers() {
  std::vector<float> numbers;
  const auto add_around = [&](float x) {
    for (const float y : {x, std::nextafter(x, 1e38f), std::nextafter(x, -1e38f)}) numbers.push_back(y);
  };
  for (std::uint32_t i = 0; i < 65536; ++i) {
    for (const std::uint32_t half : {i << 16, (i << 16) | 0x8000u}) add_around(std::bit_cast<float>(half));
    const float x = to_float(float16{static_cast<std::uint16_t>(i)});
    add_around(x);
    add_around(x + (to_float(float16{static_cast<std::uint16_t>(i + 1)}) - x) / 2);
  }
  return numbers;
}

TEST_P(Convert, NarrowingRoundsToNearestEven) {
  static const std::vector<float> numbers = telling_numbers();
  const auto n = static_cast<std::int64_t>(numbers.size());
  std::vector<bfloat16> b(numbers.size());
  std::vector<float16> h(numbers.size());
  kernels::narrow_row(numbers.data(), n, b.data());
  kernels::narrow_row(numbers.data(), n, h.data());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(b[i].bits, to_bfloat16(numbers[i]).bits) << numbers[i];
    ASSERT_EQ(h[i].bits, to_float16(numbers[i]).bits) << numbers[i];
  }
}

TEST_P(Convert, AnyLengthAndNothingBeyondIt) {
  for (std::int64_t n = 0; n < 40; ++n) {
    std::vector<float16> from(static_cast<std::size_t>(n), to_float16(1.5f));
    std::vector<float> to(static_cast<std::size_t>(n) + 1, -1.0f);
    kernels::widen_row(from.data(), n, to.data());
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(to[static_cast<std::size_t>(i)], 1.5f);
    ASSERT_EQ(to.back(), -1.0f);
  }
}

}  // namespace
}  // namespace attend
