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
  if (last < first) last = first;
  return {first, last};
}

}  // namespace attend::cuda
