// Who adds which gradient when, in an order that no number of threads can change.
//
// A unit is one key head of one sequence with the query heads that share it. Its keys are cut into parts, and
// each part is a chain: it meets the tiles of queries from the first to the last, some at each visit. A visit
// begins when the part before has been there. So every key adds up the queries in their order, and every
// query the keys in theirs, whoever computes them; gradients are added where they belong, and there are no
// partial ones. Chains of all units go on side by side (backward_chains.h).
//
// Units that add to the same elements of a bias gradient form a strand and follow one another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attention/layout.h"
#include "base/parallel.h"
#include "kernels/attention/head.h"

namespace attend::detail {

struct BackwardUnit {
  std::int64_t sequence = 0, key_head = 0;
  std::int64_t heads = 0;  // of queries, which share the keys
  std::int64_t queries = 0, key_count = 0;
  std::int64_t tile_queries = 0, tiles = 0;  // of a head
  std::int64_t visits_of_head = 0;
  std::int64_t parts = 0, part_keys = 0;
  kernels::Visibility visible;

  std::int64_t visits() const noexcept { return heads * visits_of_head; }
  kernels::KeyRange keys(std::int64_t part) const noexcept {
    return {std::min(part * part_keys, key_count), std::min((part + 1) * part_keys, key_count)};
  }
  // Where a visit's tiles begin among those of its head.
  std::int64_t first_tile(std::int64_t visit) const noexcept {
    return tiles * (visit % visits_of_head) / visits_of_head;
  }
  std::int64_t end_tile(std::int64_t visit) const noexcept {
    return tiles * (visit % visits_of_head + 1) / visits_of_head;
  }
  // Whether a query of the visit sees a key of the part, by position.
  bool sees(std::int64_t part, std::int64_t visit) const noexcept {
    const std::int64_t first = first_tile(visit) * tile_queries;
    const std::int64_t last = std::min(end_tile(visit) * tile_queries, queries) - 1;
    const kernels::KeyRange at = keys(part);
    return first <= last && visible.keys_of(first).begin < at.end && visible.keys_of(last).end > at.begin;
  }
};

// Tiles of one head of queries meet a part of the keys.
struct BackwardVisit {
  const BackwardUnit& unit;
  std::int64_t part;
  std::int64_t head, first_tile, end_tile;
  bool opens;  // the part's first
};

class BackwardSchedule {
 public:
  // More would need more queries at hand to be busy side by side.
  static constexpr std::int64_t kMostParts = 16;

  struct Shape {
    bool causal;
    std::int64_t tile_queries, block_keys, tiles_of_a_visit;
  };

  // strand_of(sequence, key_head): units with the same number follow one another; numbers are below strands.
  template <class StrandOf>
  BackwardSchedule(const Layout& layout, const Shape& shape, std::int64_t strands, StrandOf strand_of)
      : strands_(static_cast<std::size_t>(strands)) {
    if (layout.key_heads == 0) return;
    const std::int64_t heads = layout.query_heads / layout.key_heads;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(layout.sequences.size()); ++s) {
      const SequenceLayout& at = layout.sequences[static_cast<std::size_t>(s)];
      BackwardUnit unit;
      unit.sequence = s;
      unit.heads = heads;
      unit.queries = at.queries;
      unit.key_count = at.key_count;
      unit.tile_queries = shape.tile_queries;
      unit.tiles = parts_of(at.queries, shape.tile_queries);
      unit.visits_of_head = std::max<std::int64_t>(parts_of(unit.tiles, shape.tiles_of_a_visit), 1);
      unit.part_keys = keys_of_a_part(at.key_count, shape.block_keys);
      unit.parts = std::max<std::int64_t>(parts_of(at.key_count, unit.part_keys), 1);
      unit.visible = {at.key_count, at.query_offset, shape.causal, layout.window.left, layout.window.right};
      for (unit.key_head = 0; unit.key_head < layout.key_heads; ++unit.key_head) {
        strands_[static_cast<std::size_t>(strand_of(s, unit.key_head))].push_back(unit);
        work_ += heads * at.queries * at.key_count * (3 * layout.d + 2 * layout.dv);
      }
    }
  }

  const std::vector<std::vector<BackwardUnit>>& strands() const noexcept { return strands_; }

  // As many as have something to do side by side, and enough of it.
  int lanes() const {
    constexpr std::int64_t kWorkOfALane = 1 << 19;
    std::int64_t parts = 0;
    for (const auto& strand : strands_) {
      for (const BackwardUnit& unit : strand) parts = std::max(parts, unit.parts);
    }
    return lanes_for(std::min(parts * static_cast<std::int64_t>(strands_.size()), work_ / kWorkOfALane));
  }

 private:
  static std::int64_t parts_of(std::int64_t size, std::int64_t part) { return (size + part - 1) / part; }

  // Half a block while whole ones would be too few to go round. With a causal mask the first part has most
  // of the work, so that shorter parts also make the longest chain shorter.
  static std::int64_t keys_of_a_part(std::int64_t key_count, std::int64_t block_keys) {
    if (key_count < 4 * block_keys) return block_keys / 2;
    return parts_of(parts_of(key_count, block_keys), kMostParts) * block_keys;
  }

  std::vector<std::vector<BackwardUnit>> strands_;
  std::int64_t work_ = 0;
};

}  // namespace attend::detail
