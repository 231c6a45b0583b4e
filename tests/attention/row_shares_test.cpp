// How the queries of a call are shared among threads: every row once, in tiles that kernels can take, and the
// same work for everyone.
#include "attention/row_shares.h"

#include <attend/threads.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace attend::detail {
namespace {

// Tiles one by one, and several together.
constexpr RowGrain kGrain{16, 3, 1, 24, 1 << 10}, kTogether{16, 3, 4, 24, 1 << 10};

struct ShareCase {
  std::string name;
  std::vector<std::int64_t> queries, keys;
  std::int64_t heads = 1;
  bool causal = false;
  Window window{};
};

Layout layout_of(const ShareCase& c) {
  Layout layout;
  layout.query_heads = layout.key_heads = c.heads;
  layout.d = layout.dv = 64;
  layout.window = c.window;
  for (std::size_t i = 0; i < c.queries.size(); ++i) {
    SequenceLayout at;
    at.queries = c.queries[i];
    at.keys = at.key_count = c.keys[i];
    at.query_offset = c.causal ? c.keys[i] - c.queries[i] : 0;
    layout.sequences.push_back(at);
  }
  return layout;
}

std::vector<ShareCase> cases() {
  std::vector<ShareCase> all = {{"even", {512}, {512}, 12},
                                {"one head", {1000}, {1000}},
                                {"causal", {1024}, {1024}, 8, true},
                                {"short", {128, 128}, {128, 128}, 12},
                                {"mixed", {5, 0, 700, 17, 16}, {5, 9, 700, 300, 0}, 3},
                                {"causal mixed", {5, 0, 700, 17}, {50, 9, 700, 300}, 3, true},
                                {"window", {900}, {900}, 2, true}};
  all.back().window.left = 100;
  return all;
}

class RowSharing : public testing::Test {
 protected:
  void TearDown() override { set_threads(0); }
};

TEST_F(RowSharing, EveryRowIsInOneBlock) {
  for (const int count : {1, 2, 3, 14, 64}) {
    set_threads(count);
    for (const ShareCase& c : cases()) {
      const Layout layout = layout_of(c);
      for (const RowGrain& grain : {kGrain, kTogether}) {
        const RowShares shares(layout, c.causal, grain);
        std::vector<std::vector<int>> seen;  // for each sequence and head, its rows
        for (const std::int64_t queries : c.queries)
          seen.insert(seen.end(), static_cast<std::size_t>(c.heads),
                      std::vector<int>(static_cast<std::size_t>(queries)));
        for (std::int64_t i = 0; i < shares.count(); ++i) {
          const RowShares::Block block = shares[i];
          EXPECT_LT(block.first, block.last) << c.name;
          EXPECT_LE(block.last - block.first, grain.group * grain.tile * grain.together) << c.name;
          EXPECT_EQ(block.first % kGrain.group, 0) << c.name;
          auto& rows = seen[static_cast<std::size_t>(block.sequence * c.heads + block.head)];
          for (std::int64_t row = block.first; row < block.last; ++row) ++rows[static_cast<std::size_t>(row)];
        }
        for (const auto& rows : seen)
          EXPECT_TRUE(std::ranges::all_of(rows, [](int n) { return n == 1; })) << c.name << ' ' << count;
        EXPECT_TRUE(std::ranges::is_sorted(shares.begins()));
        EXPECT_EQ(shares.begins().front(), 0);
        EXPECT_LE(shares.lanes(), count);
      }
    }
  }
}

// The keys that a tile's vectors of queries see, which is what it costs.
std::int64_t work_of(const ShareCase& c, const RowShares::Block& block) {
  const auto s = static_cast<std::size_t>(block.sequence);
  const std::int64_t offset = c.causal ? c.keys[s] - c.queries[s] : 0;
  std::int64_t work = 0;
  for (std::int64_t first = block.first; first < block.last; first += kGrain.group) {
    const std::int64_t last = std::min(first + kGrain.group, block.last) - 1;
    const std::int64_t end = c.causal ? std::min(c.keys[s], last + offset + 1) : c.keys[s];
    const std::int64_t begin =
        c.window.left >= 0 ? std::max<std::int64_t>(first + offset - c.window.left, 0) : 0;
    work += std::max<std::int64_t>(end - begin, 0) + kGrain.own_keys;
  }
  return work;
}

TEST_F(RowSharing, SharesAreWithinAGroupOfEachOther) {
  for (const int count : {2, 14, 16}) {
    set_threads(count);
    for (const ShareCase& c : cases()) {
      const Layout layout = layout_of(c);
      const RowShares shares(layout, c.causal, kGrain);
      ASSERT_EQ(shares.lanes(), count) << c.name;
      std::vector<std::int64_t> work;
      for (int lane = 0; lane < count; ++lane) {
        work.push_back(0);
        const auto begin = shares.begins().subspan(static_cast<std::size_t>(lane));
        for (std::int64_t i = begin[0]; i < begin[1]; ++i) work.back() += work_of(c, shares[i]);
      }
      const std::int64_t group = *std::ranges::max_element(c.keys) + kGrain.own_keys;
      const std::int64_t fair = std::accumulate(work.begin(), work.end(), std::int64_t{0}) / count;
      EXPECT_LE(*std::ranges::max_element(work), fair + group) << c.name << ' ' << count;
      EXPECT_GE(*std::ranges::min_element(work), fair - group) << c.name << ' ' << count;
    }
  }
}

// A share is a run of neighbours: with as many heads as threads each has one, which nobody else fetches.
TEST_F(RowSharing, AThreadFetchesAsFewHeadsAsThereCanBe) {
  set_threads(4);
  const ShareCase c{"", {512}, {512}, 4};
  const Layout layout = layout_of(c);
  const RowShares shares(layout, false, kGrain);
  for (int lane = 0; lane < 4; ++lane) {
    const auto begin = shares.begins().subspan(static_cast<std::size_t>(lane));
    for (std::int64_t i = begin[0]; i < begin[1]; ++i) {
      EXPECT_EQ(shares[i].head, lane);
      EXPECT_EQ(shares[i].opens, i == begin[0]);
    }
  }
}

// Whoever is done early has something small to take from the others.
TEST_F(RowSharing, SharesEndWithSmallBlocks) {
  set_threads(14);
  const ShareCase c{"", {512}, {512}, 12};
  const Layout layout = layout_of(c);
  const RowShares shares(layout, false, kGrain);
  for (int lane = 0; lane < 14; ++lane) {
    const RowShares::Block last = shares[shares.begins()[static_cast<std::size_t>(lane) + 1] - 1];
    EXPECT_EQ(last.last - last.first, kGrain.group) << lane;
  }
}

// Together they fetch less, as long as a share has blocks enough to come out even with the others.
TEST_F(RowSharing, TilesGoTogetherWhereThereAreManyOfThem) {
  const auto rows_of_first_block = [](int threads, std::int64_t queries) {
    set_threads(threads);
    const ShareCase c{"", {queries}, {4096}, 8};
    const Layout layout = layout_of(c);
    const RowShares::Block block = RowShares(layout, false, kTogether)[0];
    return block.last - block.first;
  };
  EXPECT_EQ(rows_of_first_block(1, 4096), 4 * 48);
  EXPECT_EQ(rows_of_first_block(14, 4096), 3 * 48);
  EXPECT_LE(rows_of_first_block(14, 2048), 48);
}

TEST_F(RowSharing, SmallCallsWakeNoMoreThreadsThanPay) {
  set_threads(14);
  const auto lanes = [](std::int64_t queries, std::int64_t heads) {
    const ShareCase c{"", {queries}, {queries}, heads};
    const Layout layout = layout_of(c);
    return RowShares(layout, false, {16, 3, 1, 24, 1 << 18}).lanes();
  };
  EXPECT_EQ(lanes(16, 1), 1);
  EXPECT_EQ(lanes(16, 12), 3);
  EXPECT_EQ(lanes(128, 1), 8);
  EXPECT_EQ(lanes(128, 12), 14);
}

}  // namespace
}  // namespace attend::detail
