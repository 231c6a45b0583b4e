// How the summary of a head's weights is cut into work. Constexpr, so that tests/cuda proves it on any
// machine.
#pragma once

#include "cuda/visibility.h"

namespace attend::cuda {

// The queries of a head, in tiles of 256, are cut into at most 32 parts by their number alone: what keys
// receive is added up part by part, and the parts in their order, so that neither batch nor multiprocessors
// change a bit. A part's tiles are computed one after the other by one block.
struct SummaryParts {
  static constexpr int kQueries = 256, kKeys = 128, kMost = 32;
  // Warpgroups, each of which leaves sums of its own for a part, and bands of 64 queries of each.
  static constexpr int kGroups = 2, kBands = 2;
  std::int32_t tiles = 0, step = 1;

  ATTEND_BOTH static constexpr SummaryParts of(std::int64_t queries) {
    const auto tiles = static_cast<std::int32_t>((queries + kQueries - 1) / kQueries);
    const std::int32_t step = (tiles + kMost - 1) / kMost;
    return {tiles, step < 1 ? 1 : step};
  }
  ATTEND_BOTH constexpr std::int32_t count() const { return (tiles + step - 1) / step; }
  ATTEND_BOTH constexpr std::int32_t begin(std::int32_t part) const { return part * step; }
  ATTEND_BOTH constexpr std::int32_t end(std::int32_t part) const {
    return (part + 1) * step < tiles ? (part + 1) * step : tiles;
  }
};

// The sums of a warp's rows: each of a thread's 32 columns (of all rows that it has) is added over the 8
// threads that have the same columns. Three times half of the columns go to the thread 16, 8 and 4 lanes
// away; a thread ends with 4 of them, from this one on.
ATTEND_BOTH constexpr int first_column_left(int lane) { return (lane & 16) + (lane & 8) + (lane & 4); }
// Columns are counted as a thread has them: this one is that of the tile.
ATTEND_BOTH constexpr int column_of_thread(int lane, int column) {
  return column / 2 * 8 + lane % 4 * 2 + column % 2;
}

}  // namespace attend::cuda
