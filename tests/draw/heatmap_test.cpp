#include "draw/heatmap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/not_finite.h"
#include "support/refuses.h"

namespace attend::draw {
namespace {

Heatmap map_of(std::size_t rows, std::size_t columns, std::vector<double> values) {
  Heatmap map;
  map.rows = rows;
  map.columns = columns;
  map.values = std::move(values);
  return map;
}

TEST(Heatmap, RefusesSizesThatDoNotAgree) {
  EXPECT_REFUSES(check(map_of(2, 2, {1, 2, 3})), "[heatmap] 3 values for 2 x 2 cells");
  Heatmap map = map_of(1, 2, {1, 2});
  map.row_labels = {"a", "b"};
  EXPECT_REFUSES(check(map), "[heatmap] 2 row labels for 1 rows");
  map.row_labels = {"a"};
  map.masked = {true};
  EXPECT_REFUSES(check(map), "[heatmap] 1 masked flags for 1 x 2 cells");
}

TEST(Heatmap, RangeIsThatOfWhatIsShown) {
  Heatmap map = map_of(1, 5, {-kInf, 2, std::nan(""), 5, 100});
  map.masked = {false, false, false, false, true};
  EXPECT_EQ(range_of(map).low, 2);
  EXPECT_EQ(range_of(map).high, 5);
  EXPECT_EQ(range_of(map_of(1, 1, {kInf})).high, 1) << "nothing to go by";
}

TEST(Heatmap, PlacesOnTheScale) {
  constexpr double most = std::numeric_limits<double>::max();
  EXPECT_EQ(place_in({0, 4}, 1), 0.25);
  EXPECT_EQ(place_in({0, 1}, -3), 0);
  EXPECT_EQ(place_in({0, 1}, kInf), 1);
  EXPECT_EQ(place_in({0, 1}, -kInf), 0);
  EXPECT_EQ(place_in({2, 2}, 2), 0.5);
  EXPECT_EQ(place_in({-most, most}, 0), 0.5);
  EXPECT_TRUE(std::isnan(place_in({0, 1}, std::nan(""))));
}

TEST(Heatmap, PoolingKeepsTheLargest) {
  Heatmap map = map_of(2, 5, {1, 2, 3, 4, 5, 6, 0, std::nan(""), 9, 8});
  map.masked = {false, false, false, true, true, false, false, false, true, true};
  const Heatmap small = max_pooled(map, 1, 3);
  EXPECT_EQ(small.column_labels, (std::vector<std::string>{"0", "1", "3"}));
  EXPECT_EQ(small.at(0, 0), 6);
  EXPECT_TRUE(std::isnan(small.at(0, 1))) << "a NaN is never hidden";
  EXPECT_TRUE(small.is_masked(0, 2));
  EXPECT_REFUSES(max_pooled(map, 3, 1), "[heatmap] cannot pool 2 x 5 cells into 3 x 1");
}

}  // namespace
}  // namespace attend::draw
