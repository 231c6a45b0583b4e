// The order of a row's scores as whole numbers: of two ranks the larger is the better key. Equal scores are
// ordered by the lower key, so that no two keys of a row have the same rank, and they may enter a list in any
// order. Constexpr, so that tests/cuda proves it on any machine.
#pragma once

#include <cstdint>

#include "cuda/visibility.h"

namespace attend::cuda {

using Rank = std::uint64_t;
inline constexpr Rank kNoRank = 0;  // below every score, -inf included

// The bits of a float that is a number, as a whole number that rises with it; -0 is given as 0.
ATTEND_BOTH constexpr std::uint32_t rising(std::uint32_t bits) {
  return bits ^ ((bits >> 31) != 0 ? 0xFFFFFFFFu : 0x80000000u);
}
ATTEND_BOTH constexpr std::uint32_t bits_of_rising(std::uint32_t number) {
  return number ^ ((number >> 31) != 0 ? 0x80000000u : 0xFFFFFFFFu);
}
ATTEND_BOTH constexpr Rank rank_of(std::uint32_t score_bits, std::uint32_t key) {
  return Rank{rising(score_bits)} << 32 | (0xFFFFFFFFu - key);
}
ATTEND_BOTH constexpr std::uint32_t key_of(Rank rank) {
  return 0xFFFFFFFFu - static_cast<std::uint32_t>(rank);
}
ATTEND_BOTH constexpr std::uint32_t score_bits_of(Rank rank) {
  return bits_of_rising(static_cast<std::uint32_t>(rank >> 32));
}

// A list of 8 that falls, two places in each of four threads: what a newcomer makes of a thread's two, of
// which `before` is the one in front of them (the largest Rank, where there is none).
struct TwoPlaces {
  Rank first = kNoRank, second = kNoRank;

  ATTEND_BOTH constexpr void enter(Rank newcomer, Rank before) {
    const bool is_first = newcomer > first, is_second = newcomer > second;
    second = is_first ? first : (is_second ? newcomer : second);
    first = newcomer > before ? before : (is_first ? newcomer : first);
  }
};

// Whether lists are put in order after this many tiles: after 1, 2, 3, 4, 6, 8, 12, 16 and so on, since
// newcomers become rarer with every tile.
ATTEND_BOTH constexpr bool time_to_sort(std::uint32_t tiles) {
  const std::uint32_t lowest = tiles & (0u - tiles);  // of its bits
  return tiles != 0 && (tiles == lowest || tiles == 3 * lowest);
}

// How many tiles are surveyed before all of them are looked at, for a bound that most scores of the first
// tiles do not reach. `tiles` counts those that hide nothing.
ATTEND_BOTH constexpr std::int32_t tiles_to_survey(std::int32_t tiles) {
  return tiles / 4 < 8 ? tiles / 4 : 8;
}

}  // namespace attend::cuda
