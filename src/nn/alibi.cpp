// ALiBi (Press et al. 2022): a penalty that grows with the distance, at another rate for each head.
#include <attend/positions.h>

#include <bit>
#include <cmath>

#include "base/error.h"

namespace attend {

std::vector<double> alibi_slopes(std::int64_t heads) {
  constexpr std::int64_t kMostHeads = 1 << 20;  // far beyond any model; a larger number is a mistake
  if (heads < 1 || heads > kMostHeads) {
    refuse("alibi_slopes", "expected a number of heads from 1 to ", kMostHeads, ", got ", heads);
  }
  // p, the largest power of two in `heads`, has the slopes 2^(-8/p), 2^(-16/p), ... 2^-8. Further heads take
  // every other slope of 2p heads, those that lie between the slopes already there.
  const auto p = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<double> slopes;
  slopes.reserve(static_cast<std::size_t>(heads));
  for (std::int64_t i = 1; i <= p; ++i) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(p)));
  }
  for (std::int64_t i = 1; i <= heads - p; ++i) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(2 * i - 1) / static_cast<double>(2 * p)));
  }
  return slopes;
}

}  // namespace attend
