#include "cuda/sight.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

// Against every query's own span of keys.
TEST(CudaSight, QueriesThatSeeAnyOfSomeKeys) {
  constexpr std::int64_t kQueries = 9, kKeys = 11;
  for (std::int64_t offset = -6; offset <= 6; ++offset) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t left : {-1, 0, 2, 20}) {
        for (const std::int64_t right : {-1, 0, 3, 20}) {
          for (const std::int64_t count : {std::int64_t{0}, std::int64_t{5}, kKeys}) {
            const cuda::Visible visible{count, offset, left, right, causal};
            const auto sight = cuda::SightOfKeys::of(visible, kQueries);
            for (std::int32_t key = 0; key < kKeys; ++key) {
              for (std::int32_t i = 0; i < kQueries; ++i) {
                const cuda::KeySpan keys = visible.keys_of(i);
                ASSERT_EQ(i >= sight.begin(key) && i < sight.end(key), key >= keys.begin && key < keys.end);
              }
            }
            for (std::int64_t begin = 0; begin < kKeys; ++begin) {
              for (std::int64_t end = begin + 1; end <= kKeys; ++end) {
                const cuda::QuerySpan found = cuda::queries_of(visible, begin, end, kQueries);
                ASSERT_TRUE(found.begin < found.end ? found.end <= kQueries : found.end == 0);
                for (std::int64_t i = 0; i < kQueries; ++i) {
                  const cuda::KeySpan keys = visible.keys_of(i);
                  const bool sees = std::max(keys.begin, begin) < std::min(keys.end, end);
                  ASSERT_EQ(i >= found.begin && i < found.end, sees)
                      << offset << causal << left << right << count << begin << end << i;
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(CudaSight, TilesWithNothingToMask) {
  constexpr int kQueries = 23, kRows = 4, kKeys = 6;
  for (std::int64_t offset = -9; offset <= 9; ++offset) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t left : {-1, 0, 5, 9}) {
        for (const std::int64_t right : {-1, 0, 7}) {
          for (const std::int64_t count : {0, 5, 9, 20}) {
            for (const std::int64_t first : {0, 6, 12, 18}) {
              const cuda::Visible visible{count, offset, left, right, causal};
              const auto tiles = cuda::QueryTiles::of(visible, first, kQueries, kKeys, kRows);
              const std::int64_t last = std::min<std::int64_t>(first + kKeys, count);
              for (int tile = 0; tile <= kQueries / kRows; ++tile) {
                bool any = false, all = first < last;
                for (std::int64_t i = tile * kRows; i < (tile + 1) * kRows; ++i) {
                  if (i >= kQueries) all = false;
                  for (std::int64_t j = first; j < last; ++j) {
                    const cuda::KeySpan keys = visible.keys_of(i);
                    const bool sees = i < kQueries && j >= keys.begin && j < keys.end;
                    any = any || sees;
                    all = all && sees;
                  }
                }
                ASSERT_EQ(tile >= tiles.begin && tile < tiles.end, any) << offset << causal << tile;
                ASSERT_EQ(tile >= tiles.all_begin && tile < tiles.all_end, all) << offset << causal << tile;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
