// The grid of the backward pass: lengths, head sizes, types and options as knobs, for the host's kernels and
// for those of other devices.
#pragma once

#include <vector>

#include "support/attention_case.h"

namespace attend {

inline constexpr double kBackwardBound = 3e-5;  // three times that of the forward pass

inline const std::vector<std::int64_t>& backward_lengths() {
  static const std::vector<std::int64_t> lengths = {0, 1, 2, 7, 16, 33, 48, 65, 129, 300};
  return lengths;
}
inline const std::vector<std::int64_t>& backward_head_sizes() {
  static const std::vector<std::int64_t> sizes = {1, 3, 16, 31, 64, 80, 128, 257};
  return sizes;
}

inline std::vector<int> backward_knob_sizes() {
  return {static_cast<int>(backward_lengths().size()),
          static_cast<int>(backward_lengths().size()),
          static_cast<int>(backward_head_sizes().size()),
          3 /*dtype*/,
          2 /*causal*/,
          4 /*offset*/,
          4 /*window*/,
          5 /*mask*/,
          5 /*bias*/,
          4 /*memory*/,
          4 /*dv*/,
          2 /*group*/,
          2 /*key heads*/,
          2 /*batch*/,
          2 /*key lengths*/,
          2 /*alibi*/,
          2 /*softcap*/,
          2 /*sinks*/,
          2 /*scale*/,
          2 /*packed*/,
          2 /*dropout*/};
}

inline AttentionCase backward_case(const std::vector<int>& row) {
  std::size_t knob = 0;
  const auto next = [&] { return static_cast<std::size_t>(row[knob++]); };
  AttentionCase c;
  c.queries = backward_lengths()[next()];
  c.keys = backward_lengths()[next()];
  c.d = backward_head_sizes()[next()];
  c.dtype = std::vector<DType>{DType::f32, DType::bf16, DType::f16}[next()];
  c.causal = next() == 1;
  c.offset = static_cast<CaseOffset>(next());
  const Window window = std::vector<Window>{{}, {0, 0}, {3, -1}, {100, 40}}[next()];
  c.window_left = window.left;
  c.window_right = window.right;
  c.mask = static_cast<CaseMask>(next());
  c.bias = static_cast<CaseBias>(next());
  c.memory = static_cast<CaseMemory>(next());
  c.dv = std::vector<std::int64_t>{c.d, 1, 8, 65}[next()];
  c.group = 1 + static_cast<std::int64_t>(next());
  c.key_heads = 1 + static_cast<std::int64_t>(next());
  c.batch = 1 + static_cast<std::int64_t>(next());
  c.key_lengths = next() == 1;
  c.alibi = next() == 1;
  c.softcap = next() == 1;
  c.sinks = next() == 1;
  c.own_scale = next() == 1;
  c.packed = next() == 1;
  c.dropout = next() == 1;
  if (c.queries * c.keys > 129 * 129) c.batch = c.key_heads = 1;
  return c;
}

}  // namespace attend
