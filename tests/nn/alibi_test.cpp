#include <attend/positions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/refuses.h"

namespace attend {
namespace {

// The paper's own recipe, recursive: a geometric series whose first term is its ratio, and for other head
// counts every second slope of twice the closest power of two. BLOOM's is the same, in f32.
std::vector<double> paper_slopes(int heads) {
  const double power = std::log2(heads);
  std::vector<double> slopes;
  if (power == std::floor(power)) {
    const double start = std::pow(2, -std::pow(2, -(power - 3)));
    for (int i = 0; i < heads; ++i) slopes.push_back(start * std::pow(start, i));
    return slopes;
  }
  const int closest = 1 << static_cast<int>(power);
  slopes = paper_slopes(closest);
  const std::vector<double> twice = paper_slopes(2 * closest);
  for (std::size_t i = 0; static_cast<int>(slopes.size()) < heads; i += 2) slopes.push_back(twice[i]);
  return slopes;
}

TEST(Alibi, KnownSlopes) {
  EXPECT_EQ(alibi_slopes(1), (std::vector<double>{0x1p-8}));
  EXPECT_EQ(alibi_slopes(2), (std::vector<double>{0x1p-4, 0x1p-8}));
  EXPECT_EQ(alibi_slopes(3), (std::vector<double>{0x1p-4, 0x1p-8, 0x1p-2}));
  EXPECT_EQ(alibi_slopes(8), (std::vector<double>{0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4,  //
                                                  0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8}));
}

TEST(Alibi, AgreesWithThePaperForEveryHeadCount) {
  for (int heads = 1; heads <= 128; ++heads) {
    const std::vector<double> slopes = alibi_slopes(heads), expected = paper_slopes(heads);
    ASSERT_EQ(slopes.size(), expected.size());
    for (std::size_t i = 0; i < slopes.size(); ++i) ASSERT_NEAR(slopes[i] / expected[i], 1, 1e-13) << heads;
  }
}

TEST(Alibi, Refuses) {
  EXPECT_REFUSES(alibi_slopes(0), "[alibi_slopes] expected a number of heads from 1 to 1048576, got 0");
  EXPECT_REFUSES(alibi_slopes(-3), "[alibi_slopes] expected a number of heads");
  EXPECT_REFUSES(alibi_slopes(INT64_MAX), "[alibi_slopes] expected a number of heads");
}

}  // namespace
}  // namespace attend
