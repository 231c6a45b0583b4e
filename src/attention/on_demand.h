// Weights on demand, for the table of kernels: chosen rows of one stage, and summaries of the weights of all.
// The arguments have been checked.
#pragma once

#include <attend/weights.h>

#include "attention/layout.h"

namespace attend::detail {

// Fills rows of one stage, in the order of the lists; out is (sequences, heads, rows, longest keys).
using RowsFunction = void(const Layout& layout, ConstTensorView q, ConstTensorView k,
                          const AttentionOptions& options, Stage stage, const RowSelection& selection,
                          ConstRowStateView row_state, TensorView out);
RowsFunction rows_fused, rows_reference;

// What is asked for, with room for the answers.
WeightsSummary answers_wanted(const Layout& layout, ConstTensorView q, ConstTensorView k, DType number,
                              const WeightsRequest& request);

// Fills the tensors of the summary, which have their shapes.
using SummarizeFunction = void(const Layout& layout, ConstTensorView q, ConstTensorView k,
                               const AttentionOptions& options, const WeightsRequest& request,
                               ConstRowStateView row_state, WeightsSummary& summary);
SummarizeFunction summarize_fused, summarize_reference;

}  // namespace attend::detail
