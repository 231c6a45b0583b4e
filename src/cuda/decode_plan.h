// How few queries on many keys are cut up: constexpr, so that tests/cuda proves it on any machine.
//
// A sequence's own number of queries decides whether it is decoded, as on the host, and its own number of
// keys decides where its keys are cut. Neither looks at the batch or at the device, so a row's bits do not
// either.
#pragma once

#include "cuda/visibility.h"

namespace attend::cuda {

inline constexpr std::int64_t kMostDecodedQueries = 8;

// Rows of a product: the queries of a sequence and the heads that share a key head, query by query, so that
// keys and values are read once for all of them.
inline constexpr int kDecodeRows = 16;

// Keys of a piece. Four warps take a piece together, every fourth tile each, so that what they read lies side
// by side. Each leaves one sum of values for every row; at 256 keys a warp and 4 heads a key head that
// is 1.6% of what was read. Short sequences are cut finer, to keep more of the device busy, and long ones
// into at most 64 pieces.
inline constexpr int kPieceWarps = 4, kMostPieces = 64;

ATTEND_BOTH constexpr std::int64_t decode_piece(std::int64_t key_count) {
  if (key_count < 1024) return 256;
  if (key_count < 4096) return 512;
  std::int64_t piece = 1024;
  while (piece * kMostPieces < key_count) piece *= 2;
  return piece;
}
ATTEND_BOTH constexpr std::int64_t decode_pieces(std::int64_t key_count) {
  const std::int64_t piece = decode_piece(key_count);
  return (key_count + piece - 1) / piece;
}
// The most pieces of any sequence of up to `longest` keys: a longer one may be cut more coarsely.
ATTEND_BOTH constexpr std::int64_t most_decode_pieces(std::int64_t longest) {
  std::int64_t most = decode_pieces(longest);
  for (std::int64_t keys = 1024; keys <= longest; keys *= 2) {
    if (decode_pieces(keys - 1) > most) most = decode_pieces(keys - 1);
    if (decode_pieces(keys) > most) most = decode_pieces(keys);
  }
  return most;
}

// The sums that warps leave for a row are put together in runs of 16 neighbours, and then the runs in their
// order.
inline constexpr int kRun = 16, kMostRuns = kMostPieces * kPieceWarps / kRun;

// What one warp does at a time: rows [16 part, 16 part + 16) of a key head of a sequence against its tiles of
// a piece, those whose number leaves `quarter` when divided by 4.
struct DecodeItem {
  std::int32_t sequence = 0, key_head = 0, part = 0, piece = 0, quarter = 0;
};

// Neighbouring numbers are neighbouring keys; parts of one piece are next to each other, for the cache.
struct DecodeItems {
  std::int32_t sequences = 0, key_heads = 0, parts = 0, pieces = 0;

  ATTEND_BOTH constexpr std::int64_t total() const {
    return std::int64_t{sequences} * key_heads * parts * pieces * kPieceWarps;
  }
  ATTEND_BOTH constexpr DecodeItem at(std::int32_t index) const {
    DecodeItem item;
    item.quarter = index % kPieceWarps;
    index /= kPieceWarps;
    item.part = index % parts;
    index /= parts;
    item.piece = index % pieces;
    index /= pieces;
    item.key_head = index % key_heads;
    item.sequence = index / key_heads;
    return item;
  }
  // The number that a warp takes in its turn: the warps of a piece are of one block, and neighbouring pieces
  // go to different multiprocessors.
  ATTEND_BOTH static constexpr std::int64_t number(std::int64_t turn, int warp, int warps, std::int64_t block,
                                                   std::int64_t blocks) {
    const std::int64_t round = turn * (warps / kPieceWarps) + warp / kPieceWarps;
    return (round * blocks + block) * kPieceWarps + warp % kPieceWarps;
  }
};

// The keys that a part of a sequence's rows looks at in a piece: [begin, end), of which every row of the part
// sees [all_begin, all_end).
struct DecodeKeys {
  std::int64_t begin = 0, end = 0, all_begin = 0, all_end = 0;

  ATTEND_BOTH static constexpr DecodeKeys of(const Visible& visible, std::int64_t queries, std::int64_t group,
                                             std::int32_t part, std::int32_t piece) {
    const std::int64_t first = part * std::int64_t{kDecodeRows} / group;
    std::int64_t last = (part * std::int64_t{kDecodeRows} + kDecodeRows - 1) / group;
    if (first >= queries) return {};
    if (last >= queries) last = queries - 1;
    const KeySpan at_first = visible.keys_of(first), at_last = visible.keys_of(last);
    const std::int64_t keys = decode_piece(visible.key_count), start = piece * keys;
    const auto inside = [&](std::int64_t key) {
      return key < start ? start : key > start + keys ? start + keys : key;
    };
    return {inside(at_first.begin), inside(at_last.end), inside(at_last.begin), inside(at_first.end)};
  }
  ATTEND_BOTH constexpr bool empty() const { return begin >= end; }
  // The first of a warp's tiles of `keys` keys, and the end of all tiles. A piece begins at a multiple of 4
  // tiles.
  ATTEND_BOTH constexpr std::int32_t first_tile(int keys, std::int32_t quarter) const {
    const auto tile = static_cast<std::int32_t>(begin / keys);
    return tile + (quarter - tile % kPieceWarps + kPieceWarps) % kPieceWarps;
  }
  ATTEND_BOTH constexpr std::int32_t tile_end(int keys) const {
    return static_cast<std::int32_t>((end + keys - 1) / keys);
  }
};

// Which 8 x 8 matrices ldmatrix takes from a tile for mma m16n8k16, and where: lane l gives the address of 16
// bytes, row (a key) and 8 columns. Matrices 0 to 3 are lanes 0 to 7, 8 to 15, 16 to 23, 24 to 31.
struct MatrixRow {
  int key, eighth;  // of the head size
};
// Keys as columns of q k^T: 16 keys, 16 elements; registers 0, 1 for the first 8 keys and 2, 3 for the
// others.
ATTEND_BOTH constexpr MatrixRow key_matrix_row(int lane, int sixteenth_of_keys, int step) {
  return {sixteenth_of_keys * 16 + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2};
}
// Values as columns of p v, transposed on the way: 16 keys, 16 columns; registers 0, 1 for the first 8
// columns.
ATTEND_BOTH constexpr MatrixRow value_matrix_row(int lane, int step, int sixteenth_of_columns) {
  return {step * 16 + lane % 16, sixteenth_of_columns * 2 + lane / 16};
}
// Where those 16 bytes are in a tile that the copy engine wrote: 64 columns a row, swizzled in groups of 8
// rows.
ATTEND_BOTH constexpr int swizzled_bytes(MatrixRow at, int keys) {
  return at.eighth / 8 * keys * 128 + at.key * 128 + ((at.eighth % 8) ^ (at.key % 8)) * 16;
}

}  // namespace attend::cuda
