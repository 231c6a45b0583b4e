// The judge of attention: the part of attend/reference.h that has no layers.
#pragma once

#include <attend/attention_backward.h>
#include <attend/weights.h>

namespace attend::reference {

// As attend::attention. out and row_state may be of any floating dtype.
void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
               TensorView out, RowStateView row_state = {});

// As attend::attention_rows, always f64.
Tensor attention_rows(ConstTensorView q, ConstTensorView k, const AttentionOptions& options, Stage stage,
                      const RowSelection& selection = {});

// As attend::summarize_weights, always f64.
WeightsSummary summarize_weights(ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
                                 const WeightsRequest& request);

// As attend::attention_backward, but needs nothing from the forward pass. d_out has the shape of the output.
using attend::AttentionGradients;
void attention_backward(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                        const AttentionOptions& options, ConstTensorView d_out,
                        const AttentionGradients& gradients);

}  // namespace attend::reference
