// Backward attention as attention_backward_bf16.h has it, its products by tiles of AMX.
#pragma once

#include <span>

#include "kernels/attention/attention_amx.h"
#include "kernels/attention/attention_backward_bf16.h"

namespace attend::kernels {

// Only where has_attention_amx(). Rows of keys and values are padded with zeros as attention_amx.h says,
// and BackwardOperands::keys is what weave_amx() made.
std::int64_t backward_amx_tile_queries() noexcept;
std::int64_t scratch_size_backward_amx(std::int64_t d, std::int64_t dv) noexcept;
void attention_backward_amx(std::span<const BackwardHead> group, std::span<const BackwardOperands> operands,
                            std::int64_t first_tile, std::int64_t last_tile, KeyRange keys,
                            const KeyGradients& gradients, float* scratch) noexcept;

}  // namespace attend::kernels
