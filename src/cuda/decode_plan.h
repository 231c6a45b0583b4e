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
// keys and values are read once for all of them. A part of them, 8 or 16, is computed at a time; which of the
// two changes nothing in a row.
inline constexpr int kMostRowsOfPart = 16;

// Keys of a piece. The warps of a block take a piece together and add up what they found, so each piece
// leaves one sum of values for every row. Short sequences are cut finer, to keep more of the device busy, and
// long ones into at most 64 pieces.
inline constexpr int kMostPieces = 64;

// As a power of 2: a block asks for every piece, and a division of 64 bits takes some hundred instructions.
ATTEND_BOTH constexpr int log2_decode_piece(std::int64_t key_count) {
  if (key_count < 1024) return 8;
  if (key_count < 4096) return 9;
  int log2 = 10;
  while (std::int64_t{kMostPieces} << log2 < key_count) ++log2;
  return log2;
}
ATTEND_BOTH constexpr std::int64_t decode_piece(std::int64_t key_count) {
  return std::int64_t{1} << log2_decode_piece(key_count);
}
ATTEND_BOTH constexpr std::int64_t decode_pieces(std::int64_t key_count) {
  return (key_count + decode_piece(key_count) - 1) >> log2_decode_piece(key_count);
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

// What pieces leave for a row is put together in runs of 16 neighbours, and then the runs in their order.
inline constexpr int kRun = 16, kMostRuns = kMostPieces / kRun;

// Multiprocessors of the largest device of compute capability 9.0: a block for each.
inline constexpr int kMostBlocks = 144;

// What a block does at a time: part `part` of the rows of a key head of a sequence against a piece of its
// keys.
struct DecodeItem {
  std::int32_t sequence = 0, key_head = 0, part = 0, piece = 0;
};

// What there is to do for a sequence: for each key head the pieces that one of its rows sees, each for every
// part of the rows. Numbers that are neighbours are neighbouring keys; the parts of a piece follow each
// other, for the cache.
struct DecodeWork {
  std::int32_t first_piece = 0, pieces = 0, parts = 0;
  // Keys of a piece, those that some row sees, and those of the first piece that lie before them.
  std::int64_t piece = 0, keys = 0, hidden = 0;

  ATTEND_BOTH static constexpr DecodeWork of(const Visible& visible, std::int64_t queries, std::int32_t group,
                                             std::int32_t part_rows) {
    if (queries < 1 || queries > kMostDecodedQueries) return {};
    const std::int64_t begin = visible.keys_of(0).begin, end = visible.keys_of(queries - 1).end;
    if (begin >= end) return {};
    DecodeWork work;
    const int log2 = log2_decode_piece(visible.key_count);
    work.piece = std::int64_t{1} << log2;
    work.first_piece = static_cast<std::int32_t>(begin >> log2);
    work.pieces = static_cast<std::int32_t>((end + work.piece - 1) >> log2) - work.first_piece;
    work.parts = (static_cast<std::int32_t>(queries) * group + part_rows - 1) / part_rows;
    work.hidden = begin & (work.piece - 1);
    work.keys = end - begin;
    return work;
  }
  ATTEND_BOTH constexpr std::int32_t of_head() const { return pieces * parts; }
  ATTEND_BOTH constexpr DecodeItem at(std::int32_t sequence, std::int32_t number) const {
    const std::int32_t in_head = number % of_head();
    return {sequence, number / of_head(), in_head % parts, first_piece + in_head / parts};
  }

  // What a key head takes, in keys, if beginning and ending a piece takes as long as kPieceCost of them.
  static constexpr std::int64_t kPieceCost = 64;
  constexpr std::int64_t cost_of_head() const { return (keys + pieces * kPieceCost) * parts; }
  // The number of the first piece that begins at `cost` or later.
  constexpr std::int32_t number_at(std::int64_t cost) const {
    const std::int64_t head = cost / cost_of_head(), inside = cost % cost_of_head(),
                       each = piece + kPieceCost;
    std::int64_t first = inside == 0 ? 0 : (inside / parts + hidden + each - 1) / each;
    if (first > pieces) first = pieces;
    return static_cast<std::int32_t>((head * pieces + first) * parts);
  }
};

// Where the work of a block begins; it ends where that of the next one does.
struct DecodeStart {
  std::int32_t sequence = 0, number = 0;

  ATTEND_BOTH constexpr bool before(const DecodeStart& other) const {
    return sequence < other.sequence || (sequence == other.sequence && number < other.number);
  }
};

// Deals neighbouring pieces to blocks, so that all take about as long, and hands out where each begins: of
// `blocks` and one more, the end of all. work(s) is that of sequence s. Which block computes a piece changes
// nothing that it computes.
template <class WorkOf>
constexpr void deal_pieces(std::int32_t sequences, std::int32_t key_heads, WorkOf work, std::int32_t blocks,
                           DecodeStart* starts) {
  std::int64_t total = 0;
  for (std::int32_t s = 0; s < sequences; ++s) total += work(s).cost_of_head() * key_heads;
  std::int64_t before = 0;  // what the sequences before take
  std::int32_t block = 0;
  for (std::int32_t s = 0; s < sequences; ++s) {
    const DecodeWork here = work(s);
    const std::int64_t cost = here.cost_of_head() * key_heads;
    for (; block < blocks && total * block / blocks < before + cost; ++block)
      starts[block] = {s, here.number_at(total * block / blocks - before)};
    before += cost;
  }
  for (; block <= blocks; ++block) starts[block] = {sequences, 0};
}

// The keys that a part of a sequence's rows looks at in a piece: [begin, end), of which every row of the part
// sees [all_begin, all_end).
struct DecodeKeys {
  std::int32_t begin = 0, end = 0, all_begin = 0, all_end = 0;

  ATTEND_BOTH static constexpr DecodeKeys of(const Visible& visible, std::int64_t queries, std::int32_t group,
                                             std::int32_t part_rows, std::int32_t part, std::int32_t piece) {
    const std::int32_t first = part * part_rows / group;
    std::int32_t last = (part * part_rows + part_rows - 1) / group;
    if (first >= queries) return {};
    if (last >= queries) last = static_cast<std::int32_t>(queries) - 1;
    const KeySpan at_first = visible.keys_of(first), at_last = visible.keys_of(last);
    const int log2 = log2_decode_piece(visible.key_count);
    const std::int64_t keys = std::int64_t{1} << log2, start = std::int64_t{piece} << log2;
    const auto inside = [&](std::int64_t key) {
      return static_cast<std::int32_t>(key < start ? start : key > start + keys ? start + keys : key);
    };
    return {inside(at_first.begin), inside(at_last.end), inside(at_last.begin), inside(at_first.end)};
  }
  ATTEND_BOTH constexpr bool empty() const { return begin >= end; }
  // The tiles of `keys` keys that hold them: [first_tile, tile_end).
  ATTEND_BOTH constexpr std::int32_t first_tile(int keys) const { return begin / keys; }
  ATTEND_BOTH constexpr std::int32_t tile_end(int keys) const { return (end + keys - 1) / keys; }
};

}  // namespace attend::cuda
