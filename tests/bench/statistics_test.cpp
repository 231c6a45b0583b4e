#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace attend::bench {
namespace {

TEST(BenchStatistics, QuantilesLieBetweenNeighbours) {
  const std::vector<double> sorted = {1, 2, 4, 8};
  EXPECT_EQ(quantile(sorted, 0), 1);
  EXPECT_EQ(quantile(sorted, 1), 8);
  EXPECT_EQ(quantile(sorted, 0.5), 3);
  EXPECT_EQ(quantile(sorted, 1.0 / 3), 2);
  EXPECT_EQ(quantile(sorted, -1), 1);
  EXPECT_EQ(quantile(sorted, 2), 8);
  EXPECT_EQ(quantile({7}, 0.3), 7);
}

TEST(BenchStatistics, SpreadIsMedianAndQuartilesInAnyOrder) {
  const Spread spread = spread_of({5, 1, 4, 2, 3});
  EXPECT_EQ(spread.low, 2);
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.high, 4);
}

TEST(BenchStatistics, OneOutlierMovesNothing) {
  EXPECT_EQ(spread_of({1, 1, 1, 1, 1e9}).high, 1);
  EXPECT_EQ(spread_of({1, 1, 1, 1, 1e9}).median, 1);
}

TEST(BenchStatistics, NoMeasurementsAreRefused) {
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
  EXPECT_THROW(spread_of({}), std::invalid_argument);
}

}  // namespace
}  // namespace attend::bench
