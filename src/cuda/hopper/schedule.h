// Which tiles of keys a tile of queries looks at, and in which order the multiprocessors take tiles of
// queries. The order changes when a result is made, never what it is.
#pragma once

#include "cuda/visibility.h"

namespace attend::cuda {

// Tiles of keys [begin, end) are computed from the last to the first. Inside [all_begin, all_end) every query
// of the tile sees every key, so that nothing is masked by position there. Queries [first, first + rows), of
// which those up to `last` exist; what is masked does not depend on how many do.
struct KeyTiles {
  std::int32_t begin = 0, all_begin = 0, all_end = 0, end = 0;

  ATTEND_BOTH static constexpr KeyTiles of(const Visible& visible, std::int64_t first, std::int64_t last,
                                           int rows, int keys) {
    const KeySpan at_first = visible.keys_of(first), at_last = visible.keys_of(last);
    KeyTiles tiles;
    tiles.begin = static_cast<std::int32_t>(at_first.begin / keys);
    tiles.end = static_cast<std::int32_t>((at_last.end + keys - 1) / keys);
    if (tiles.end < tiles.begin) tiles.end = tiles.begin;
    const std::int64_t begin_of_all = visible.keys_of(first + rows - 1).begin;
    tiles.all_begin = static_cast<std::int32_t>((begin_of_all + keys - 1) / keys);
    tiles.all_end = static_cast<std::int32_t>(at_first.end / keys);
    if (tiles.all_end > tiles.end) tiles.all_end = tiles.end;
    if (tiles.all_begin < tiles.begin) tiles.all_begin = tiles.begin;
    if (tiles.all_end <= tiles.all_begin) tiles.all_begin = tiles.all_end = tiles.begin;
    return tiles;
  }
  ATTEND_BOTH constexpr int count() const { return end - begin; }
};

struct QueryTile {
  std::int32_t tile = 0;  // of the sequence
  std::int32_t row = 0;   // sequence * heads + head
};

// `rows` = sequences * heads, each of `tiles` tiles. Where later queries see more keys (causal), the longest
// of all rows come first; where all are alike, row by row, so that the keys of a row stay in the L2 cache.
// (Longest first among as many rows as fit the cache took 17% longer at 8,192 queries and 16 heads.)
struct Schedule {
  std::int32_t tiles = 0, rows = 0;
  bool longest_first = false;
  bool across_rows = false;  // all rows of a tile before the next one: what they have in common is read once

  ATTEND_BOTH constexpr std::int32_t total() const { return tiles * rows; }
  ATTEND_BOTH constexpr QueryTile at(std::int32_t index) const {
    if (longest_first) return {tiles - 1 - index / rows, index % rows};
    if (across_rows) return {index / rows, index % rows};
    return {index % tiles, index / tiles};
  }
  // The number that block `block` of `blocks` takes in the round that starts at `start`, a multiple of
  // blocks: forth and back where lengths fall, so that no block gets the longer one every time.
  ATTEND_BOTH constexpr std::int32_t index(std::int32_t start, std::int32_t block,
                                           std::int32_t blocks) const {
    const bool back = longest_first && (start / blocks & 1) != 0;
    return start + (back ? blocks - 1 - block : block);
  }
};

}  // namespace attend::cuda
