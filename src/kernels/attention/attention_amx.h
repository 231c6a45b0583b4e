// Fused attention whose products are made by tiles of AMX from bf16 numbers, with sums, maximum and
// exponentials in fp32.
#pragma once

#include "kernels/attention/head_bf16.h"

namespace attend::kernels {

// Whether this build has such a kernel and the instruction set in use has tiles: only then may the rest be
// called. After require_isa().
bool has_attention_amx() noexcept;

// Values as Woven has them, but 32 keys of a column side by side: (keys / 32 rounded up, columns rounded up
// to amx_columns(), 32). weave_amx() does what weave() does.
std::int64_t amx_columns(std::int64_t n) noexcept;
bool weave_amx(const std::uint16_t* rows, std::int64_t stride, std::int64_t count, std::int64_t n,
               std::int32_t* tiles) noexcept;

// As those of attention_bf16.h. A call may have any multiple of amx_tile_queries() up to the most, and reads
// keys and values once for all of them; a row has the same bits whichever it is.
std::int64_t amx_tile_queries() noexcept;
std::int64_t amx_most_queries() noexcept;
std::int64_t scratch_size_amx(std::int64_t d, std::int64_t dv) noexcept;
void attention_amx(const HeadBf16& head, const Woven& values, std::int64_t first, std::int64_t last,
                   const HeadOutput<float>& output, float* scratch) noexcept;

}  // namespace attend::kernels
