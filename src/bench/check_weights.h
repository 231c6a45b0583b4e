// Checks of what summarize_weights() returns, on samples, as in check.h.
//
// Rows of weights come from the reference. What a key receives sums over all queries: a sampled key is
// recomputed in float64 from the row state of every query, and the row state is itself compared with the
// reference's on sampled rows.
#pragma once

#include <attend/weights.h>

#include <string>

#include "bench/inputs.h"

namespace attend::bench {

// Checks whatever the summary contains, for full attention with the default scale. Returns the largest
// difference.
double check_weights(const std::string& what, const Inputs& inputs, const WeightsRequest& request,
                     const WeightsSummary& summary, ConstRowStateView row_state);

}  // namespace attend::bench
