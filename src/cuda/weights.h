// Weights on demand: the table's entries, and the kernels that answer one question each. All of them make
// weights from scores and the settled state of their row.
#pragma once

#include "cuda/settled_state.h"

namespace attend::cuda {

// What belongs to a row is placed as q is, what belongs to a key as k is; without data: not wanted.
struct SummaryTarget {
  Placed top_keys, top_weights, entropy, received, map;
  std::int64_t top_k = 0, map_rows = 0, map_columns = 0;
  bool map_is_max = false;

  bool wants_rows() const { return top_keys.data != nullptr || entropy.data != nullptr; }
};

// Any type that computes in f32, any head size, any strides, every option.
void portable_rows(plugin::Place place, const Problem& problem, int stage, const Chosen& chosen,
                   const SettledPlaces& settled, const plugin::View& out);
void portable_row_summary(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                          const SettledPlaces& settled, const SummaryTarget& target);
void portable_received(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                       const SettledPlaces& settled, const SummaryTarget& target);
void portable_map(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                  const SettledPlaces& settled, const SummaryTarget& target);

// The table's entries.
void attention_rows(plugin::Place place, const plugin::Attention& call, const plugin::RowState& state,
                    const plugin::Rows& rows);
void summarize_weights(plugin::Place place, const plugin::Attention& call, const plugin::RowState& state,
                       const plugin::Summary& summary);

}  // namespace attend::cuda
