#include "cuda/hopper/hidden.h"

#include <gtest/gtest.h>

#include <bitset>

namespace attend {
namespace {

using namespace cuda;

// Of every pair of ends, in every thread of a row, against the columns of its scores.
TEST(CudaHidden, BitsAreThoseOfTheColumns) {
  for (int t = 0; t < 4; ++t) {
    for (int begin = 0; begin <= 128; ++begin) {
      for (int end = 0; end <= 128; ++end) {
        std::uint32_t expected = 0;
        for (int e = 0; e < 32; ++e) {
          const int column = sum_column(t, sum_of_row(0, e));
          if (column >= begin && column < end) expected |= std::uint32_t{1} << e;
        }
        ASSERT_EQ(bits_of_columns(t, begin, end), expected) << t << " " << begin << " " << end;
      }
    }
  }
  EXPECT_EQ(bits_of_columns(0, 0, -5), 0u);  // a tile beyond all that is seen
}

// One column at a time: what a warp's four votes say of it is one bit of one thread's word, that of its
// score.
TEST(CudaHidden, AMaskBecomesTheWordsOfItsThreads) {
  for (int column = 0; column < 128; ++column) {
    std::uint32_t ballots[4] = {};
    ballots[column % 4] = std::uint32_t{1} << column / 4;
    for (int t = 0; t < 4; ++t) {
      std::uint32_t expected = 0;
      for (int e = 0; e < 32; ++e) {
        if (sum_column(t, sum_of_row(1, e)) == column) expected |= std::uint32_t{1} << e;
      }
      ASSERT_EQ(mask_word(ballots, t), expected) << column << " " << t;
    }
  }
  const std::uint32_t all[4] = {~0u, ~0u, ~0u, ~0u};
  EXPECT_EQ(std::bitset<32>(mask_word(all, 3)).count(), 32u);
}

}  // namespace
}  // namespace attend
