// Which scores of a thread are hidden, as bits: bit e of the word of row r stands for score sum_of_row(r, e)
// of fragments.h. A row of a tile has up to 128 columns, 32 of them in each thread of four neighbours.
#pragma once

#include <cstdint>

#include "cuda/hopper/fragments.h"

namespace attend::cuda {

// How many of a row's scores in thread t are of columns below `limit`.
ATTEND_BOTH constexpr int scores_below(int t, int limit) {
  const int rest = limit - t % 4 * 2;
  if (rest <= 0) return 0;
  return rest / 8 * 2 + (rest % 8 < 2 ? rest % 8 : 2);
}
ATTEND_BOTH constexpr std::uint32_t first_bits(int count) {
  return count >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
}
// Those of columns [begin, end).
ATTEND_BOTH constexpr std::uint32_t bits_of_columns(int t, int begin, int end) {
  return first_bits(scores_below(t, end)) & ~first_bits(scores_below(t, begin));
}

// How a warp makes the words of a row of a mask, one for each of four neighbours: lane l looks at columns 4l
// to 4l + 3, and bit l of ballots[b] says whether column 4l + b takes part.
ATTEND_BOTH constexpr std::uint32_t mask_word(const std::uint32_t (&ballots)[4], int neighbour) {
  constexpr std::uint32_t kEvery = 0x55555555u;
  const std::uint32_t even = neighbour % 2 == 0 ? ballots[0] : ballots[2];
  const std::uint32_t odd = neighbour % 2 == 0 ? ballots[1] : ballots[3];
  return (even >> (neighbour / 2) & kEvery) | (odd >> (neighbour / 2) & kEvery) << 1;
}

}  // namespace attend::cuda
