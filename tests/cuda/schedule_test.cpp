#include "cuda/hopper/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace attend {
namespace {

using namespace cuda;

TEST(CudaSchedule, EveryTileOfKeysIsComputedAndOnlyOpenOnesAreTakenForOpen) {
  for (const std::int64_t keys_of_tile : {64, 128}) {
    for (const std::int64_t key_count : {0, 1, 127, 128, 129, 500}) {
      for (const std::int64_t offset : {-200, 0, 3, 450}) {
        for (const std::int64_t left : {-1, 0, 100}) {
          for (const std::int64_t right : {-1, 0, 60}) {
            for (const bool causal : {false, true}) {
              const Visible visible{key_count, offset, left, right, causal};
              for (const std::int64_t queries : {1, 100, 128, 300}) {
                for (std::int64_t first = 0; first < queries; first += 128) {
                  const std::int64_t last = std::min<std::int64_t>(first + 128, queries) - 1;
                  const KeyTiles tiles =
                      KeyTiles::of(visible, first, last, 128, static_cast<int>(keys_of_tile));
                  ASSERT_LE(tiles.begin, tiles.all_begin);
                  ASSERT_LE(tiles.all_begin, tiles.all_end);
                  ASSERT_LE(tiles.all_end, std::max(tiles.end, tiles.all_begin));
                  for (std::int64_t i = first; i <= last; ++i) {
                    const KeySpan span = visible.keys_of(i);
                    if (span.begin == span.end) continue;
                    ASSERT_LE(tiles.begin * keys_of_tile, span.begin);
                    ASSERT_GE(tiles.end * keys_of_tile, span.end);
                    if (tiles.all_begin == tiles.all_end) continue;
                    ASSERT_LE(span.begin, tiles.all_begin * keys_of_tile);
                    ASSERT_GE(span.end, tiles.all_end * keys_of_tile);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

// What is taken for open does not depend on how many queries follow in the tile.
TEST(CudaSchedule, NeighboursDoNotChangeWhatIsOpen) {
  for (const std::int64_t left : {-1, 40, 300}) {
    const Visible visible{1000, 0, left, -1, true};
    for (std::int64_t first = 0; first < 900; first += 128) {
      const KeyTiles all = KeyTiles::of(visible, first, first + 127, 128, 128);
      for (std::int64_t last = first; last < first + 127; ++last) {
        const KeyTiles some = KeyTiles::of(visible, first, last, 128, 128);
        EXPECT_EQ(some.all_begin, all.all_begin);
        EXPECT_EQ(some.all_end, all.all_end);
      }
    }
  }
}

TEST(CudaSchedule, BlocksTakeEveryTileOnce) {
  for (const int order : {0, 1, 2}) {
    for (const std::int32_t tiles : {1, 7, 64}) {
      for (const std::int32_t rows : {1, 5, 16}) {
        for (const std::int32_t blocks : {1, 13, 132}) {
          const Schedule schedule{tiles, rows, order == 1, order == 2};
          std::set<std::pair<int, int>> seen;
          for (std::int32_t start = 0; start < schedule.total(); start += blocks) {
            for (std::int32_t block = 0; block < blocks; ++block) {
              const std::int32_t index = schedule.index(start, block, blocks);
              if (index >= schedule.total()) continue;
              const QueryTile at = schedule.at(index);
              ASSERT_TRUE(at.tile >= 0 && at.tile < tiles && at.row >= 0 && at.row < rows);
              ASSERT_TRUE(seen.insert({at.tile, at.row}).second);
            }
          }
          EXPECT_EQ(static_cast<std::int32_t>(seen.size()), schedule.total());
        }
      }
    }
  }
}

TEST(CudaSchedule, AcrossRowsOneTileFollowsTheOther) {
  const Schedule schedule{3, 4, false, true};
  for (std::int32_t index = 0; index < schedule.total(); ++index) {
    EXPECT_EQ(schedule.at(index).tile, index / 4);
    EXPECT_EQ(schedule.at(index).row, index % 4);
  }
}

// Causal, one head after the other: how far the busiest block is above the mean, in tiles of keys.
TEST(CudaSchedule, ForthAndBackIsEven) {
  const Schedule schedule{64, 16, true};
  std::vector<std::int64_t> work(132);
  std::int64_t all = 0;
  for (std::int32_t start = 0; start < schedule.total(); start += 132) {
    for (std::int32_t block = 0; block < 132; ++block) {
      const std::int32_t index = schedule.index(start, block, 132);
      if (index >= schedule.total()) continue;
      work[static_cast<std::size_t>(block)] += schedule.at(index).tile + 1;
      all += schedule.at(index).tile + 1;
    }
  }
  EXPECT_LE(static_cast<double>(*std::max_element(work.begin(), work.end())),
            1.03 * static_cast<double>(all) / 132);
}

}  // namespace
}  // namespace attend
