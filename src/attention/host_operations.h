// The host's functions of attention, for its row of the table of operations (base/operations.h). The
// arguments have been checked; `layout` is what check_attention() made of them.
#pragma once

#include <attend/attention_backward.h>
#include <attend/weights.h>

#include "attention/layout.h"
#include "base/operations.h"

namespace attend::host {

KernelChoice attention_kernel(const Layout& layout, DType query, const AttentionOptions& options);
// Each sequence by its own kernel, so that what it shares a batch with cannot change its result.
void attention(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
               const AttentionOptions& options, TensorView out, const RowStateView& row_state);
// Fills rows of one stage, in the order of the lists; out is (sequences, heads, rows, longest keys).
void attention_rows(const Layout& layout, ConstTensorView q, ConstTensorView k,
                    const AttentionOptions& options, Stage stage, const RowSelection& selection,
                    const ConstRowStateView& row_state, TensorView out);
// Fills the tensors of the summary, which have their shapes.
void summarize_weights(const Layout& layout, ConstTensorView q, ConstTensorView k,
                       const AttentionOptions& options, const WeightsRequest& request,
                       const ConstRowStateView& row_state, WeightsSummary& summary);
void attention_backward(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                        const AttentionOptions& options, ConstTensorView out,
                        const ConstRowStateView& row_state, ConstTensorView d_out,
                        const AttentionGradients& gradients);
void log_sum_exp(const ConstRowStateView& row_state, TensorView out);
void merge_attention(ConstTensorView out_a, const ConstRowStateView& state_a, ConstTensorView out_b,
                     const ConstRowStateView& state_b, TensorView out, const RowStateView& row_state);

}  // namespace attend::host
