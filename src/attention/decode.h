// Attention of sequences with few queries: work is cut along the keys, so that one sequence with one head
// keeps every thread busy.
#pragma once

#include "attention/layout.h"

namespace attend::detail {

// Up to so many queries a sequence is decoded. Measured where the fused kernel, which fills its vectors with
// queries, takes over: docs/kernels/decoding.md.
inline constexpr std::int64_t kMostDecodedQueries = 8;

void forward_decode(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                    const AttentionOptions& options, TensorView out, RowStateView row_state);

}  // namespace attend::detail
