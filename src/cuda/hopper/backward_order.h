// In which order the fast backward pass adds. A block owns 128 keys of one head and goes through the tiles of
// queries that see any of them, from the last to the first. What it finds for d_q it adds to sums in memory,
// after the block of the keys before its own has done so: whichever block is the quickest, a sum is made in
// the order of its keys.
//
// Nothing can wait for ever. A block takes its number when it begins, smaller numbers first, and keys of a
// head have smaller numbers than the later keys of that head. So each block waits only for blocks that have
// begun, of which the first waits for none.
#pragma once

#include "cuda/sight.h"

namespace attend::cuda {

struct KeyTile {
  std::int32_t tile = 0;  // of the sequence
  std::int32_t row = 0;   // sequence * heads of keys + head
};

// Rows side by side, `together` at a time, each with all its tiles. Many of them, so that neighbours of a
// row, which wait for each other, begin apart; not all of them, so that the queries of a row are in the cache
// for several blocks.
struct BackwardOrder {
  std::int32_t tiles = 0, rows = 0, together = 1;

  ATTEND_BOTH constexpr std::int32_t total() const { return tiles * rows; }
  ATTEND_BOTH constexpr KeyTile at(std::int32_t number) const {
    const std::int32_t first = number / (tiles * together) * together, rest = number - first * tiles;
    const std::int32_t width = rows - first < together ? rows - first : together;
    return {rest / width, first + rest % width};
  }
};

// Where the sums of d_q are, as a grid of (query head, tile of all sequences). A packed sequence begins at
// the tile of its first row plus one for each sequence before it, which leaves room for tiles that are not
// full.
struct QuerySumsLayout {
  std::int32_t rows_of_tile = 64;
  std::int32_t packed = 0;
  std::int64_t tiles_of_sequence = 0;  // of a dense batch
  std::int64_t tiles_of_head = 0;      // of all sequences

  ATTEND_BOTH static constexpr QuerySumsLayout of(bool packed, std::int64_t rows, std::int64_t sequences,
                                                  int rows_of_tile) {
    QuerySumsLayout layout{rows_of_tile, packed ? 1 : 0, (rows + rows_of_tile - 1) / rows_of_tile, 0};
    layout.tiles_of_head = packed ? rows / rows_of_tile + sequences : layout.tiles_of_sequence * sequences;
    return layout;
  }
  ATTEND_BOTH constexpr std::int64_t at(std::int64_t s, std::int64_t h, std::int64_t query_begin,
                                        std::int64_t tile) const {
    const std::int64_t first = packed != 0 ? query_begin / rows_of_tile + s : s * tiles_of_sequence;
    return h * tiles_of_head + first + tile;
  }
};

// The tiles of queries that a block goes through, for each of `heads` query heads from `head` on, and those
// that the block of the keys before it goes through.
struct QueryTilesOfGroup {
  QueryTiles tiles, before;
  std::int32_t head = 0, heads = 0;
  std::int32_t last = -1;  // the number of the last of them all

  ATTEND_BOTH static constexpr QueryTilesOfGroup of(const Visible& visible, std::int64_t first,
                                                    std::int64_t queries, int keys, int rows,
                                                    std::int32_t head, std::int32_t heads) {
    QueryTilesOfGroup group{QueryTiles::of(visible, first, queries, keys, rows), {}, head, heads, -1};
    if (first > 0) group.before = QueryTiles::of(visible, first - keys, queries, keys, rows);
    group.last = group.tiles.count() * heads - 1;
    return group;
  }
  // Whether somebody adds to this tile of queries before.
  ATTEND_BOTH constexpr bool follows(int tile) const { return tile >= before.begin && tile < before.end; }
};

}  // namespace attend::cuda
