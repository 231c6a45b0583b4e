// Drives the fp32 backward kernel over a whole call whose inputs have been checked.
#pragma once

#include <attend/attention_backward.h>

#include "attention/layout.h"

namespace attend::detail {

void backward_fused(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                    const AttentionOptions& options, ConstTensorView out, ConstRowStateView row_state,
                    ConstTensorView d_out, const AttentionGradients& gradients);

}  // namespace attend::detail
