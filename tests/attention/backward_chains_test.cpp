// In which order gradients are added up: the promise that their bits rest on.
#include "attention/backward_chains.h"

#include <attend/threads.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace attend::detail {
namespace {

class BackwardOrder : public testing::Test {
 protected:
  void TearDown() override { set_threads(0); }

  static Layout layout_of(std::int64_t sequences, std::int64_t query_heads, std::int64_t key_heads,
                          std::int64_t queries, std::int64_t keys) {
    Layout layout;
    layout.query_heads = query_heads;
    layout.key_heads = key_heads;
    layout.d = layout.dv = 64;
    SequenceLayout at;
    at.queries = queries;
    at.keys = at.key_count = keys;
    layout.sequences.assign(static_cast<std::size_t>(sequences), at);
    return layout;
  }

  // Whether every tile meets the parts from the first to the last, and every part the tiles.
  static void expect_order(const Layout& layout, bool causal, std::int64_t strands, const std::string& name) {
    const std::int64_t tile_queries = 48;
    const BackwardSchedule schedule(
        layout, {causal, tile_queries, 512, 2}, strands,
        [&](std::int64_t s, std::int64_t h) { return (s * layout.key_heads + h) % strands; });
    const auto units = static_cast<std::int64_t>(layout.sequences.size()) * layout.key_heads;
    const std::int64_t tiles = (layout.sequences[0].queries + tile_queries - 1) / tile_queries;
    const std::int64_t all_tiles = tiles * (layout.query_heads / layout.key_heads);
    const BackwardUnit& shape = schedule.strands().front().front();
    std::vector<std::atomic<std::int64_t>> parts_of_tile(static_cast<std::size_t>(units * all_tiles));
    std::vector<std::atomic<std::int64_t>> tiles_of_part(static_cast<std::size_t>(units * shape.parts));
    std::vector<std::atomic<std::int64_t>> unit_of_strand(static_cast<std::size_t>(strands));
    std::atomic<int> wrong{0};
    run_backward(schedule, lanes_for(1000), [&](const BackwardVisit& now, int) noexcept {
      const std::int64_t unit = now.unit.sequence * layout.key_heads + now.unit.key_head;
      auto& met = tiles_of_part[static_cast<std::size_t>(unit * shape.parts + now.part)];
      wrong += now.opens == (met.load() == 0) ? 0 : 1;
      for (std::int64_t tile = now.first_tile; tile < now.end_tile; ++tile) {
        const std::int64_t place = now.head * tiles + tile;
        auto& before = parts_of_tile[static_cast<std::size_t>(unit * all_tiles + place)];
        wrong += before.exchange(now.part + 1) == now.part ? 0 : 1;
        wrong += met.exchange(place + 1) == place ? 0 : 1;
      }
      // A strand's units: none begins before the one before it has ended.
      auto& last = unit_of_strand[static_cast<std::size_t>(unit % strands)];
      wrong += last.exchange(unit) <= unit ? 0 : 1;
    });
    EXPECT_EQ(wrong.load(), 0) << name;
    for (const auto& parts : parts_of_tile) ASSERT_EQ(parts.load(), shape.parts) << name;
  }
};

TEST_F(BackwardOrder, TilesMeetPartsAndPartsMeetTilesInOrder) {
  for (const int count : {1, 2, 3, 14}) {
    set_threads(count);
    const std::string name = std::to_string(count) + " threads";
    for (const bool causal : {false, true}) {
      expect_order(layout_of(1, 8, 8, 1024, 1024), causal, 8, "few units, " + name);
      expect_order(layout_of(1, 1, 1, 2000, 2000), causal, 1, "one unit, " + name);
      expect_order(layout_of(2, 6, 2, 300, 700), causal, 4, "shared keys, " + name);
      expect_order(layout_of(3, 20, 20, 130, 300), causal, 60, "many units and a rest, " + name);
      expect_order(layout_of(2, 4, 4, 500, 600), causal, 2, "strands, " + name);
      expect_order(layout_of(1, 3, 3, 20, 3000), causal, 3, "one tile, " + name);
    }
  }
}

TEST_F(BackwardOrder, SmallCallsWakeNoMoreThreadsThanPay) {
  set_threads(14);
  const auto lanes = [](const Layout& layout) {
    const std::int64_t strands = layout.key_heads;
    return BackwardSchedule(layout, {false, 48, 512, 2}, strands,
                            [](std::int64_t, std::int64_t h) { return h; })
        .lanes();
  };
  EXPECT_EQ(lanes(layout_of(1, 1, 1, 16, 16)), 1);
  EXPECT_EQ(lanes(layout_of(1, 12, 12, 16, 16)), 1);
  EXPECT_EQ(lanes(layout_of(1, 12, 12, 128, 128)), 12);  // a part each
  EXPECT_EQ(lanes(layout_of(1, 8, 8, 1024, 1024)), 14);
}

// A thread that is in the middle of one thing does not keep the others from the rest.
TEST_F(BackwardOrder, OthersGoOnWhereALaneIsBusy) {
  set_threads(3);
  const Layout layout = layout_of(1, 4, 4, 480, 512);
  const BackwardSchedule schedule(layout, {false, 48, 512, 2}, 4,
                                  [](std::int64_t, std::int64_t h) { return h; });
  std::atomic<int> others{0};
  constexpr int kVisits = 5;  // of each of two parts, by two tiles
  run_backward(schedule, 3, [&](const BackwardVisit& now, int) noexcept {
    if (now.unit.key_head > 0) ++others;
    const bool busy = now.unit.key_head == 0 && now.part == 0 && now.opens;
    while (busy && others < 3 * 2 * kVisits) std::this_thread::yield();
  });
  EXPECT_EQ(others.load(), 3 * 2 * kVisits);
}

}  // namespace
}  // namespace attend::detail
