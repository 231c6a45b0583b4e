// The operands of attention, with the names that messages give them. Those that are not given are left out of
// every check.
#pragma once

#include <attend/attention.h>
#include <attend/attention_backward.h>

#include <array>

#include "base/operations.h"

namespace attend::detail {

inline std::array<PlacedOperand, 8> attention_operands(ConstTensorView q, ConstTensorView k,
                                                       ConstTensorView v, const AttentionOptions& options,
                                                       ConstTensorView out = {},
                                                       const ConstRowStateView& row_state = {}) {
  return {{{"query", q},
           {"key", k},
           {"value", v},
           {"mask", options.mask},
           {"bias", options.bias},
           {"out", out},
           {"row_state.max", row_state.max},
           {"row_state.sum", row_state.sum}}};
}

inline std::array<PlacedOperand, 15> backward_operands(ConstTensorView q, ConstTensorView k,
                                                       ConstTensorView v, const AttentionOptions& options,
                                                       ConstTensorView out,
                                                       const ConstRowStateView& row_state,
                                                       ConstTensorView d_out,
                                                       const AttentionGradients& gradients) {
  return {{{"query", q},
           {"key", k},
           {"value", v},
           {"mask", options.mask},
           {"bias", options.bias},
           {"out", out},
           {"row_state.max", row_state.max},
           {"row_state.sum", row_state.sum},
           {"d_out", d_out},
           {"d_q", gradients.q},
           {"d_k", gradients.k},
           {"d_v", gradients.v},
           {"d_bias", gradients.bias},
           {"d_alibi_slopes", gradients.alibi_slopes},
           {"d_sinks", gradients.sinks}}};
}

}  // namespace attend::detail
