// Attention whose products are of bf16 numbers, on processors with instructions for them.
#pragma once

#include "attention/layout.h"

namespace attend::detail {

// Whether a checked call is computed so: its precision is bf16, and the instruction set in use has BF16.
bool computes_in_bf16(const Layout& layout);
// And whether it has tiles for them.
bool computes_in_tiles(const Layout& layout);

void forward_bf16(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  const AttentionOptions& options, TensorView out, RowStateView row_state);
void forward_amx(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                 const AttentionOptions& options, TensorView out, RowStateView row_state);

}  // namespace attend::detail
