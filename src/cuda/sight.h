// The other way round of Visible: which queries see any of some keys. Both ends of what a query sees never
// move back from query to query, so these are neighbours, too.
#pragma once

#include "cuda/visibility.h"

namespace attend::cuda {

struct QuerySpan {
  std::int64_t begin = 0, end = 0;
};

// Of the first `queries`, those that see a key of [begin, end) by position; begin < end.
ATTEND_BOTH constexpr QuerySpan queries_of(const Visible& visible, std::int64_t begin, std::int64_t end,
                                           std::int64_t queries) {
  if (begin >= visible.key_count) return {};
  std::int64_t first = 0, last = queries;
  if (visible.causal && begin - visible.query_offset > first) first = begin - visible.query_offset;
  if (visible.window_right >= 0 && begin - visible.window_right - visible.query_offset > first)
    first = begin - visible.window_right - visible.query_offset;
  if (end > visible.key_count) end = visible.key_count;
  if (visible.window_left >= 0 && end + visible.window_left - visible.query_offset < last)
    last = end + visible.window_left - visible.query_offset;
  if (last <= first) return {};
  return {first, last};
}

// The same for one key at a time, in 32 bits: what a loop that is short of registers can look up. Lengths are
// below 2^30, so that a shift of that much is as good as none.
struct SightOfKeys {
  std::int32_t first_shift = 0, last_shift = 0;  // key j is seen by queries [j + first_shift, j + last_shift)
  std::int32_t queries = 0, key_count = 0;

  ATTEND_BOTH static constexpr std::int32_t clamped(std::int64_t shift) {
    constexpr std::int64_t kFar = std::int64_t{1} << 30;
    return static_cast<std::int32_t>(shift < -kFar ? -kFar : shift > kFar ? kFar : shift);
  }
  ATTEND_BOTH static constexpr SightOfKeys of(const Visible& visible, std::int64_t queries) {
    SightOfKeys sight{-(1 << 30), 1 << 30, static_cast<std::int32_t>(queries),
                      static_cast<std::int32_t>(visible.key_count)};
    if (visible.causal) {
      sight.first_shift = clamped(-visible.query_offset);
    } else if (visible.window_right >= 0) {
      sight.first_shift = clamped(-visible.query_offset - visible.window_right);
    }
    if (visible.window_left >= 0) sight.last_shift = clamped(visible.window_left + 1 - visible.query_offset);
    return sight;
  }
  ATTEND_BOTH constexpr std::int32_t begin(std::int32_t key) const {
    return key + first_shift > 0 ? key + first_shift : 0;
  }
  ATTEND_BOTH constexpr std::int32_t end(std::int32_t key) const {
    return key >= key_count ? 0 : key + last_shift < queries ? key + last_shift : queries;
  }
};

// Tiles of queries [begin, end) see something of the keys [first, first + keys), of which those below
// visible.key_count exist. Inside [all_begin, all_end) every query exists and sees all that exist, so that
// nothing is masked by position there.
struct QueryTiles {
  std::int32_t begin = 0, all_begin = 0, all_end = 0, end = 0;

  ATTEND_BOTH static constexpr QueryTiles of(const Visible& visible, std::int64_t first, std::int64_t queries,
                                             int keys, int rows) {
    const QuerySpan seeing = queries_of(visible, first, first + keys, queries);
    QueryTiles tiles;
    tiles.begin = static_cast<std::int32_t>(seeing.begin / rows);
    tiles.end = static_cast<std::int32_t>((seeing.end + rows - 1) / rows);
    const std::int64_t last_key = (first + keys < visible.key_count ? first + keys : visible.key_count) - 1;
    // The first query that sees the last key, and the first one that no longer sees the first.
    const QuerySpan of_last = queries_of(visible, last_key < first ? first : last_key,
                                         (last_key < first ? first : last_key) + 1, queries);
    const QuerySpan of_first = queries_of(visible, first, first + 1, queries);
    tiles.all_begin = static_cast<std::int32_t>((of_last.begin + rows - 1) / rows);
    tiles.all_end = static_cast<std::int32_t>(of_first.end / rows);
    if (tiles.all_end > tiles.end) tiles.all_end = tiles.end;
    if (tiles.all_begin < tiles.begin) tiles.all_begin = tiles.begin;
    if (tiles.all_end <= tiles.all_begin || of_last.end == 0 || of_first.end == 0)
      tiles.all_begin = tiles.all_end = tiles.begin;
    return tiles;
  }
  ATTEND_BOTH constexpr int count() const { return end - begin; }
};

}  // namespace attend::cuda
