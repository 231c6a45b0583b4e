// The largest scores of a row in order, as the threads of a warp keep them: of equal scores the lower key
// comes first. Constexpr, so that tests/cuda proves it on any machine.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/visibility.h"

namespace attend::cuda {

// None has the lowest score and the largest key.
struct Scored {
  static constexpr std::uint32_t kNoKey = 0xFFFFFFFF;
  float score = -std::numeric_limits<float>::infinity();
  std::uint32_t key = kNoKey;
};

// A list of 8 that falls, two places in each of four threads: what a newcomer makes of a thread's two, of
// which `before` is the one in front of them (with a score of infinity, where there is none). Newcomers come
// in rising order of keys, so that one whose score is equal stays behind.
struct TwoPlaces {
  Scored first, second;

  ATTEND_BOTH constexpr void enter(Scored newcomer, Scored before) {
    const bool is_first = newcomer.score > first.score, is_second = newcomer.score > second.score,
               is_before = newcomer.score > before.score;
    second = is_first ? first : (is_second ? newcomer : second);
    first = is_before ? before : (is_first ? newcomer : first);
  }
};

// The four threads of a row have every fourth pair of its keys: which of them has this one.
ATTEND_BOTH constexpr int owner_of(std::uint32_t key) { return static_cast<int>(key / 2 % 4); }

// Whether lists are put in order after this many tiles: after each of the first 8, every second up to 16,
// every fourth up to 32 and so on, since newcomers become rarer with every tile.
ATTEND_BOTH constexpr bool time_to_sort(std::uint32_t tiles) {
  const std::uint32_t lowest = tiles & (0u - tiles);  // of its bits
  return tiles != 0 && tiles < 8 * lowest;
}

// How many tiles are surveyed before all of them are looked at, for a bound that most scores of the first
// tiles do not reach. `tiles` counts those that hide nothing.
ATTEND_BOTH constexpr std::int32_t tiles_to_survey(std::int32_t tiles) {
  return tiles / 4 < 8 ? tiles / 4 : 8;
}

}  // namespace attend::cuda
