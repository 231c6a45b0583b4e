// Backward attention whose five products are of bf16 numbers, with sums, exponentials and all that follows
// from weights in fp32. Tiles, blocks of keys and row terms are those of attention_backward.h.
#pragma once

#include <span>

#include "kernels/attention/attention_backward.h"
#include "kernels/attention/head_bf16.h"

namespace attend::kernels {

// What one query head multiplies; beside it stands its BackwardHead, whose q, k, v and d_out are not looked
// at. Rows are in bf16, an even number of elements side by side.
struct BackwardOperands {
  HeadBf16 scores;
  const std::uint16_t* v = nullptr;
  const std::uint16_t* d_out = nullptr;
  std::int64_t v_stride = 0, d_out_stride = 0;
  Woven keys;
};

std::int64_t backward_bf16_tile_queries() noexcept;
std::int64_t scratch_size_backward_bf16(std::int64_t d, std::int64_t dv) noexcept;

// As backward_rows() and attention_backward().
void backward_rows_bf16(const BackwardHead& head, const BackwardOperands& operands,
                        const HeadOutput<const float>& forward, std::int64_t first,
                        std::int64_t last) noexcept;
void attention_backward_bf16(std::span<const BackwardHead> group, std::span<const BackwardOperands> operands,
                             std::int64_t first_tile, std::int64_t last_tile, KeyRange keys,
                             const KeyGradients& gradients, float* scratch) noexcept;

}  // namespace attend::kernels
