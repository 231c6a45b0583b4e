// How a summary of weights is cut into work and its columns are added up on a GPU: what can be proved without
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "cuda/cells.h"
#include "cuda/hopper/fragments.h"
#include "cuda/hopper/summary_parts.h"
#include "cuda/hopper/top_ranks.h"
#include "kernels/attention/cells.h"

namespace attend::cuda {
namespace {

TEST(SummaryParts, CoverEveryTileOnceInOrder) {
  for (std::int64_t queries = 0; queries <= 70'000; queries += queries < 600 ? 1 : 997) {
    const SummaryParts parts = SummaryParts::of(queries);
    std::int32_t next = 0;
    for (std::int32_t part = 0; part < parts.count(); ++part) {
      EXPECT_EQ(parts.begin(part), next);
      EXPECT_GT(parts.end(part), next);
      next = parts.end(part);
    }
    EXPECT_EQ(next, (queries + 255) / 256);
    EXPECT_LE(parts.count(), SummaryParts::kMost);
  }
}

// The three exchanges of summary.cuh, step by step: columns as (thread's column, whose rows are in it).
TEST(SummaryColumns, EveryColumnIsAddedOverAllRowsOfAWarp) {
  struct Sum {
    int column;
    std::set<int> lanes;
  };
  std::vector<std::vector<Sum>> warp(32);
  for (int lane = 0; lane < 32; ++lane) {
    for (int c = 0; c < 32; ++c)
      warp[static_cast<std::size_t>(lane)].push_back({column_of_thread(lane, c), {lane}});
  }
  for (const int apart : {16, 8, 4}) {
    const auto before = warp;
    for (int lane = 0; lane < 32; ++lane) {
      const bool upper = (lane & apart) != 0;
      for (int e = 0; e < apart; ++e) {
        Sum sum = before[static_cast<std::size_t>(lane)][static_cast<std::size_t>(upper ? e + apart : e)];
        // What the other gives: the half that it does not keep.
        const Sum& given =
            before[static_cast<std::size_t>(lane ^ apart)][static_cast<std::size_t>(upper ? e + apart : e)];
        ASSERT_EQ(sum.column, given.column);
        sum.lanes.insert(given.lanes.begin(), given.lanes.end());
        warp[static_cast<std::size_t>(lane)][static_cast<std::size_t>(e)] = sum;
      }
    }
  }
  std::set<int> stored;
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < 4; ++e) {
      const Sum& sum = warp[static_cast<std::size_t>(lane)][static_cast<std::size_t>(e)];
      EXPECT_EQ(sum.column, column_of_thread(lane, first_column_left(lane) + e));
      EXPECT_EQ(sum.lanes.size(), 8u);
      for (const int other : sum.lanes) EXPECT_EQ(other % 4, lane % 4);
      EXPECT_TRUE(stored.insert(sum.column).second);
    }
    // Two neighbours are stored at once, at an even column.
    EXPECT_EQ(column_of_thread(lane, first_column_left(lane)) % 2, 0);
  }
  EXPECT_EQ(stored.size(), 128u);
}

TEST(SummaryColumns, AThreadsColumnsAreThoseOfItsSums) {
  for (int thread = 0; thread < 128; ++thread) {
    for (int e = 0; e < 32; ++e) {
      for (const int r : {0, 1})
        EXPECT_EQ(sum_column(thread, sum_of_row(r, e)), column_of_thread(thread % 32, e));
    }
  }
}

// As four threads do it: each has two places and sees the second place of the thread before it.
TEST(TopRanks, FourThreadsKeepTheEightLargestInOrder) {
  std::mt19937 random(5);
  const float inf = std::numeric_limits<float>::infinity();
  for (int round = 0; round < 400; ++round) {
    std::vector<Scored> all;
    TwoPlaces list[4];
    const int count = round % 40;
    for (int i = 0; i < count; ++i) {
      // Few different scores, 0 of both signs and infinity among them: keys decide among equal ones.
      const float scores[] = {-3e38f, -1, -0.f, 0, 1, 3e38f, inf};
      all.push_back({scores[random() % std::size(scores)], static_cast<std::uint32_t>(i)});
    }
    for (const Scored newcomer : all) {
      Scored before[4] = {{inf, 0}};
      for (std::size_t q = 1; q < 4; ++q) before[q] = list[q - 1].second;
      for (std::size_t q = 0; q < 4; ++q) list[q].enter(newcomer, before[q]);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Scored& a, const Scored& b) { return a.score > b.score; });
    all.resize(8);
    for (std::size_t q = 0; q < 4; ++q) {
      EXPECT_EQ(list[q].first.key, all[2 * q].key) << round;
      EXPECT_EQ(list[q].second.key, all[2 * q + 1].key) << round;
      EXPECT_EQ(list[q].second.score, all[2 * q + 1].score) << round;
    }
  }
}

TEST(TopRanks, NoneIsNoNewcomerToAnyList) {
  TwoPlaces list{{-3e38f, 7}, {}};
  list.enter({}, {std::numeric_limits<float>::infinity(), 0});
  EXPECT_EQ(list.first.key, 7u);
  EXPECT_EQ(list.second.key, Scored::kNoKey);
}

// A pair of neighbouring keys is that of the thread whose sums they are.
TEST(TopRanks, KeysBelongToTheThreadThatHasTheirSums) {
  for (int thread = 0; thread < 32; ++thread) {
    for (int x = 0; x < 64; ++x)
      EXPECT_EQ(owner_of(static_cast<std::uint32_t>(sum_column(thread, x))), thread % 4);
  }
}

TEST(TopRanks, ListsAreSortedOftenAtFirst) {
  std::vector<std::uint32_t> times;
  for (std::uint32_t tiles = 0; tiles <= 64; ++tiles) {
    if (time_to_sort(tiles)) times.push_back(tiles);
  }
  EXPECT_EQ(times, (std::vector<std::uint32_t>{1,  2,  3,  4,  5,  6,  7,  8,  10, 12,
                                               14, 16, 20, 24, 28, 32, 40, 48, 56, 64}));
}

TEST(TopRanks, AtMostAQuarterOfTheTilesIsSurveyed) {
  for (std::int32_t tiles = 0; tiles < 200; ++tiles) {
    EXPECT_LE(4 * tiles_to_survey(tiles), tiles);
    EXPECT_LE(tiles_to_survey(tiles), 8);
  }
  EXPECT_EQ(tiles_to_survey(64), 8);
}

TEST(MapCells, AreThoseOfTheHost) {
  for (const std::int64_t length : {1, 2, 7, 31, 32, 33, 100, 299, 8192}) {
    for (const std::int64_t wanted : {1, 2, 5, 31, 64, 300, 1024}) {
      const Cells cells(length, wanted);
      const kernels::Cells host{length, std::min(length, wanted)};
      ASSERT_EQ(cells.count, host.count);
      std::int64_t shown = 0;
      for (std::int64_t c = 0; c < cells.count; ++c) {
        EXPECT_EQ(cells.begin(c), host.begin(c));
        EXPECT_EQ(cells.end(c), host.end(c));
        EXPECT_EQ(cells.shown_begin(c), shown);
        for (; shown < cells.shown_begin(c + 1); ++shown) EXPECT_EQ(shown * length / wanted, cells.begin(c));
      }
      EXPECT_EQ(shown, wanted);
      // Cells that are taken together have at most 32 indices, unless there is only one of them.
      const std::int64_t together = cells.together(32);
      for (std::int64_t first = 0; first < cells.count; first += together) {
        const std::int64_t end = std::min(first + together, cells.count);
        if (together > 1) {
          EXPECT_LE(cells.begin(end) - cells.begin(first), 32);
        }
      }
      EXPECT_EQ(cells.groups(32), (cells.count + together - 1) / together);
    }
  }
}

}  // namespace
}  // namespace attend::cuda
