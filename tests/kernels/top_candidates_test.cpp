// The best of many candidates, in order: against sorting all of them.
#include "kernels/attention/top_candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace attend::kernels {
namespace {

TEST(TopCandidates, OrderAsTheirScoresThenTheirKeys) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> rising = {-infinity, -3e38f, -1.0f, -1e-40f, 0.0f, 1e-40f, 0.5f, 3e38f, infinity};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    EXPECT_EQ(score_of(candidate(rising[i], 7)), rising[i]);
    EXPECT_EQ(key_of(candidate(rising[i], 7)), 7);
    EXPECT_GT(candidate(rising[i], 0), candidate(rising[i], 2147483647));
    if (i > 0) {
      EXPECT_GT(candidate(rising[i], 2147483647), candidate(rising[i - 1], 0));
    }
  }
  EXPECT_GT(candidate(-0.0f, 1), candidate(0.0f, 2));
}

std::vector<Candidate> candidates_in(int order, std::int64_t count) {
  std::vector<Candidate> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::uint64_t>(i);
    const double at = static_cast<double>(i);
    const double score = order == 0   ? normal_at(3, place)
                         : order == 1 ? at
                         : order == 2 ? -at
                         : order == 3 ? 0
                         : order == 4 ? std::floor(uniform_at(5, place) * 4)
                                      : std::abs(at - static_cast<double>(count) / 2);  // an organ pipe
    all.push_back(candidate(static_cast<float>(score), static_cast<std::int32_t>(i)));
  }
  return all;
}

TEST(TopCandidates, TheBestAreKeptAndSorted) {
  for (int order = 0; order < 6; ++order) {
    for (const std::int64_t count : {1, 2, 3, 17, 100, 3000}) {
      std::vector<Candidate> sorted = candidates_in(order, count);
      std::sort(sorted.rbegin(), sorted.rend());
      for (const std::int64_t keep : {std::int64_t{1}, (count + 1) / 2, count}) {
        std::vector<Candidate> kept = candidates_in(order, count);
        EXPECT_EQ(keep_best(kept.data(), count, keep), score_of(sorted[static_cast<std::size_t>(keep - 1)]));
        sort_best(kept.data(), keep);
        EXPECT_TRUE(std::equal(kept.begin(), kept.begin() + keep, sorted.begin())) << order << " " << count;
      }
    }
  }
}

}  // namespace
}  // namespace attend::kernels
