// Fused attention whose products are of bf16 numbers, with sums, maximum and exponentials in fp32.
#pragma once

#include "kernels/attention/head_bf16.h"

namespace attend::kernels {

// Queries that are worked on together. A sequence is cut at multiples of it, counted from its own first
// query.
std::int64_t bf16_tile_queries() noexcept;
std::int64_t scratch_size_bf16(std::int64_t d, std::int64_t dv) noexcept;

// Rows [first, last), at most bf16_tile_queries() of them; row `first` is row 0 of the output. scratch:
// 64-byte aligned.
void attention_bf16(const HeadBf16& head, const Woven& values, std::int64_t first, std::int64_t last,
                    const HeadOutput<float>& output, float* scratch) noexcept;

}  // namespace attend::kernels
