// The order in which the fast backward pass adds up d_q: every tile once, always by ascending keys, whoever
// is quick, and nobody waits for ever, however few blocks run at a time.
#include "cuda/hopper/backward_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace attend {
namespace {

using namespace cuda;

TEST(CudaBackwardOrder, BlocksTakeEveryTileOnceAndKeysOfARowInOrder) {
  for (const std::int32_t tiles : {1, 4, 33}) {
    for (const std::int32_t rows : {1, 5, 16, 40}) {
      for (const std::int32_t together : {1, 3, 16, 40}) {
        const BackwardOrder order{tiles, rows, std::min(together, rows)};
        std::vector<std::int32_t> next(static_cast<std::size_t>(rows));
        for (std::int32_t number = 0; number < order.total(); ++number) {
          const KeyTile at = order.at(number);
          ASSERT_TRUE(at.row >= 0 && at.row < rows);
          ASSERT_EQ(at.tile, next[static_cast<std::size_t>(at.row)]++) << tiles << rows << together;
        }
        EXPECT_EQ(std::count(next.begin(), next.end(), tiles), rows);
      }
    }
  }
}

// What the kernel does, without its arithmetic: blocks begin in the order of their numbers when another has
// ended, and go through their tiles of queries; at each of them they wait until the number there is their
// own.
class Simulation {
 public:
  static constexpr int kKeys = 128, kHeads = 2, kGroup = 2;

  Simulation(const Visible& visible, std::int64_t queries, std::int64_t keys, int rows_of_tile)
      : visible_(visible),
        queries_(queries),
        rows_(rows_of_tile),
        order_{static_cast<std::int32_t>((keys + kKeys - 1) / kKeys), kHeads, 2} {}

  // Whether all blocks end, with so many at a time, each of which takes its steps when chance has it.
  bool ends(int at_a_time, unsigned seed) {
    struct Block {
      KeyTile at;
      QueryTilesOfGroup group;
      int number = 0;
    };
    std::minstd_rand random(seed);
    std::vector<Block> running;
    std::int32_t begun = 0;
    while (begun < order_.total() || !running.empty()) {
      while (static_cast<int>(running.size()) < at_a_time && begun < order_.total()) {
        const KeyTile at = order_.at(begun++);
        running.push_back({at, QueryTilesOfGroup::of(visible_, std::int64_t{at.tile} * kKeys, queries_, kKeys,
                                                     rows_, at.row * kGroup, kGroup)});
      }
      bool any = false;
      for (Block& block : running) {
        if (block.number > block.group.last) {
          any = true;
          continue;
        }
        const int head = block.group.head + block.number % block.group.heads,
                  tile = block.group.tiles.end - 1 - block.number / block.group.heads;
        const bool may = !block.group.follows(tile) || next_[{head, tile}] == block.at.tile;
        any = any || may;
        if (!may || random() % 3 == 0) continue;
        added_[{head, tile}].push_back(block.at.tile);
        next_[{head, tile}] = block.at.tile + 1;
        ++block.number;
      }
      if (!any) return false;
      std::erase_if(running, [](const Block& block) { return block.number > block.group.last; });
    }
    return true;
  }

  // Exactly the tiles of keys that a tile of queries sees, from the first to the last.
  void expect_all_in_order() const {
    for (int head = 0; head < kHeads * kGroup; ++head) {
      for (int tile = 0; tile * rows_ < queries_; ++tile) {
        std::vector<std::int32_t> seen;
        for (std::int32_t key_tile = 0; key_tile < order_.tiles; ++key_tile) {
          bool any = false;
          for (std::int64_t i = tile * rows_; i < std::min<std::int64_t>(queries_, (tile + 1) * rows_); ++i) {
            const KeySpan span = visible_.keys_of(i);
            any = any || std::max(span.begin, std::int64_t{key_tile} * kKeys) <
                             std::min(span.end, std::int64_t{key_tile + 1} * kKeys);
          }
          if (any) seen.push_back(key_tile);
        }
        const auto found = added_.find({head, tile});
        ASSERT_EQ(found == added_.end() ? std::vector<std::int32_t>{} : found->second, seen)
            << head << " " << tile;
      }
    }
  }

 private:
  Visible visible_;
  std::int64_t queries_;
  int rows_;
  BackwardOrder order_;
  std::map<std::pair<int, int>, std::int32_t> next_;
  std::map<std::pair<int, int>, std::vector<std::int32_t>> added_;
};

TEST(CudaBackwardOrder, EverySumIsMadeByAscendingKeysAndNobodyWaitsForEver) {
  unsigned seed = 1;
  for (const int rows_of_tile : {64, 128}) {
    for (const std::int64_t keys : {100, 700, 1500}) {
      for (const std::int64_t queries : {1, 650, 1500}) {
        for (const bool causal : {false, true}) {
          for (const std::int64_t window : {-1, 0, 300}) {
            for (const std::int64_t offset : {std::int64_t{0}, keys - queries, std::int64_t{-400}}) {
              const Visible visible{keys - 30, offset, window, causal ? -1 : window, causal};
              for (const int at_a_time : {1, 2, 7, 132}) {
                Simulation simulation(visible, queries, keys, rows_of_tile);
                ASSERT_TRUE(simulation.ends(at_a_time, seed++)) << keys << " " << queries << " " << at_a_time;
                simulation.expect_all_in_order();
              }
            }
          }
        }
      }
    }
  }
}

TEST(CudaBackwardOrder, SumsOfSequencesAndHeadsLieApart) {
  for (const int rows : {64, 128}) {
    const std::vector<std::int64_t> lengths = {1, 64, 63, 0, 65, 300, 128, 2};
    std::int64_t total = 0;
    for (const std::int64_t length : lengths) total += length;
    const auto sequences = static_cast<std::int64_t>(lengths.size());
    for (const bool packed : {false, true}) {
      const auto layout = QuerySumsLayout::of(packed, packed ? total : 300, sequences, rows);
      std::set<std::int64_t> taken;
      for (std::int64_t h = 0; h < 3; ++h) {
        std::int64_t begin = 0;
        for (std::int64_t s = 0; s < sequences; ++s) {
          const std::int64_t length = lengths[static_cast<std::size_t>(s)];
          for (std::int64_t tile = 0; tile * rows < length; ++tile) {
            const std::int64_t at = layout.at(s, h, packed ? begin : 0, tile);
            ASSERT_TRUE(at >= 0 && at < 3 * layout.tiles_of_head);
            ASSERT_TRUE(taken.insert(at).second) << rows << packed << s << tile;
          }
          begin += length;
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
