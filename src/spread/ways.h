// The ways in which a call is carried out.
#pragma once

#include "spread/call.h"

namespace attend::spread {

// Around the ring.
void ring_forward(const Call& call, TensorView out, RowStateView row_state);
void ring_backward(const Call& call, ConstTensorView out, ConstRowStateView row_state, ConstTensorView d_out,
                   const AttentionGradients& gradients);
void ring_weights(const Call& call, const WeightsRequest& request, ConstRowStateView row_state,
                  WeightsSummary& summary);

// With all keys. What is asked for belongs to single queries.
void gathered_forward(const Call& call, TensorView out, RowStateView row_state);
void gathered_weights(const Call& call, const WeightsRequest& request, ConstRowStateView row_state,
                      WeightsSummary& summary);

// Some heads each.
void heads_forward(const Call& call, TensorView out, RowStateView row_state);
void heads_backward(const Call& call, ConstTensorView out, ConstRowStateView row_state, ConstTensorView d_out,
                    const AttentionGradients& gradients);
void heads_weights(const Call& call, const WeightsRequest& request, ConstRowStateView row_state,
                   WeightsSummary& summary);

}  // namespace attend::spread
