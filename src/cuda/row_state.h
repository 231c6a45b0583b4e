// What can be made of row states without looking at queries and keys again.
#pragma once

#include "plugin/cuda_table.h"

namespace attend::cuda {

void log_sum_exp(plugin::Place place, const plugin::RowState& state, const plugin::View& out);
void merge_attention(plugin::Place place, const plugin::View& out_a, const plugin::RowState& a,
                     const plugin::View& out_b, const plugin::RowState& b, const plugin::View& out,
                     const plugin::RowState& state);

}  // namespace attend::cuda
