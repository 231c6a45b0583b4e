// One head of one sequence for the kernels that multiply bf16 numbers and sum in fp32: AVX512-BF16 takes two
// numbers a lane, and does twice the multiply-adds of fp32.
#pragma once

#include <cstdint>

#include "kernels/attention/head.h"

namespace attend::kernels {

// Whether this build has such kernels and the instruction set in use their instructions: only then may they
// be called. After require_isa().
bool has_attention_bf16() noexcept;

// Rows of one head, woven: pair j of a column holds the elements of rows 2j and 2j + 1, the second 0 after
// the last row. finite[t]: whether those of the tile of rows t are neither NaN nor infinite.
struct Woven {
  const std::int32_t* pairs = nullptr;  // (rows / 2 rounded up, columns)
  const std::uint8_t* finite = nullptr;
};

// Rows that share one entry of Woven::finite.
inline constexpr std::int64_t kWovenTile = 128;

// Weaves `count` rows of n numbers, at most kWovenTile of them; says whether all are finite.
bool weave(const std::uint16_t* rows, std::int64_t stride, std::int64_t count, std::int64_t n,
           std::int32_t* pairs) noexcept;

// Rows of q and k are in bf16, an even number of elements side by side: a row of odd size is followed by a 0.
struct HeadBf16 {
  Head<float> head;  // sizes and options; its q, k and v are not looked at
  const std::uint16_t* q = nullptr;
  const std::uint16_t* k = nullptr;
  std::int64_t q_stride = 0, k_stride = 0;
  std::int64_t first_query = 0;  // that q begins with

  const std::uint16_t* query(std::int64_t i) const noexcept { return q + (i - first_query) * q_stride; }
};

// Sizes and options of a head, whatever it multiplies.
inline const Head<float>& options_of(const Head<float>& head) noexcept { return head; }
inline const Head<float>& options_of(const HeadBf16& head) noexcept { return head.head; }

}  // namespace attend::kernels
