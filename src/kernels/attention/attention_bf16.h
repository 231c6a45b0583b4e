// Fused attention whose products are of bf16 numbers, with sums, maximum and exponentials in fp32:
// AVX512-BF16 takes two of them a lane, and does twice the multiply-adds of fp32.
#pragma once

#include <cstdint>

#include "kernels/attention/head.h"

namespace attend::kernels {

// Whether this build has the kernel and the instruction set in use its instructions: only then may the others
// be called. After require_isa().
bool has_attention_bf16() noexcept;

// Values of one head, woven: pair j of a column holds the values of keys 2j and 2j + 1, the second 0 after
// the last key. finite[t]: whether those of the tile of keys t are neither NaN nor infinite.
struct WovenValues {
  const std::int32_t* pairs = nullptr;  // (keys / 2 rounded up, dv)
  const std::uint8_t* finite = nullptr;
};

// Keys that share one entry of WovenValues::finite.
inline constexpr std::int64_t kWovenTile = 128;

// One head of one sequence. Rows of q and k are in bf16, an even number of elements side by side: a row of
// odd size is followed by a 0.
struct HeadBf16 {
  Head<float> head;  // sizes and options; its q, k and v are not looked at
  const std::uint16_t* q = nullptr;
  const std::uint16_t* k = nullptr;
  WovenValues v;
  std::int64_t q_stride = 0, k_stride = 0;
};

// Weaves `keys` rows of values, at most kWovenTile of them; says whether all are finite.
bool weave_values(const std::uint16_t* values, std::int64_t stride, std::int64_t keys, std::int64_t dv,
                  std::int32_t* pairs) noexcept;

// Queries that are worked on together. A sequence is cut at multiples of it, counted from its own first
// query.
std::int64_t bf16_tile_queries() noexcept;
std::int64_t scratch_size_bf16(std::int64_t d, std::int64_t dv) noexcept;

// Rows [first, last), at most bf16_tile_queries() of them; row `first` is row 0 of the output. scratch:
// 64-byte aligned.
void attention_bf16(const HeadBf16& head, std::int64_t first, std::int64_t last,
                    const HeadOutput<float>& output, float* scratch) noexcept;

}  // namespace attend::kernels
