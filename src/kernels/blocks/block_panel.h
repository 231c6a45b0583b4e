// What products of block matrices read: sixteen rows of a matrix woven together, and a vector in int8.
//
// A block's numbers are unsigned (4, 6 or 8 bits), and a block of 32 of them stands for scale * number +
// offset. Sixteen rows of a stored matrix are a panel: for each block 16 columns of the product side by side,
// so that one instruction multiplies four numbers of each with the same four of the vector, and nothing is
// summed across lanes. A panel is a permutation of the stored bytes and takes as many of them; the scales of
// Q4_K alone become whole bytes (148 instead of 144).
#pragma once

#include <attend/blocks.h>

#include <cstddef>
#include <cstdint>

namespace attend::kernels {

inline constexpr std::int64_t kBlockDepth = 32;    // numbers that are multiplied with one scale of the vector
inline constexpr std::int64_t kBlockColumns = 16;  // stored rows of a panel
inline constexpr std::int64_t kGroupBlocks = 8;    // blocks of 32 in one of 256

constexpr std::int64_t blocks_for(std::int64_t depth) noexcept {
  return (depth + kBlockDepth - 1) / kBlockDepth;
}

// 32 numbers of a vector: values * scale. The rest is their sum, in the forms in which the types of blocks
// need it: numbers that a type counts from 8, 32 or 128 are multiplied as they lie, and the sums take back
// what that adds, exactly. One cache line.
struct alignas(64) VectorBlock {
  std::int8_t values[kBlockDepth];  // -127 to 127
  float scale;                      // NaN where a number is NaN or infinite
  float weighted;                   // scale * sum
  std::int32_t minus_8, minus_128;  // times the sum
  std::int32_t minus_32[2];         // times the sums of the first and the last 16
};

// Numbers of a panel: first those of all blocks, then their scales; each panel begins at a multiple of 64
// bytes.
constexpr std::int64_t panel_number_bytes(BlockType type) noexcept {  // of a block of 32
  return type == BlockType::q8_0 ? 512 : type == BlockType::q6_k ? 384 : 256;
}
constexpr std::int64_t panel_scale_bytes(BlockType type, std::int64_t blocks) noexcept {
  constexpr std::int64_t kHalves = 2 * kBlockColumns;
  switch (type) {
    case BlockType::q4_0:
    case BlockType::q8_0:
      return blocks * kHalves;  // d
    case BlockType::q4_1:
      return blocks * 2 * kHalves;  // d, m
    case BlockType::q4_k:
      return blocks / kGroupBlocks * (2 * kHalves + kGroupBlocks * 2 * kBlockColumns);  // d, m; 8 times S, T
    case BlockType::q6_k:
      return blocks / kGroupBlocks * (kHalves + kGroupBlocks * 2 * kBlockColumns);  // d; 8 times two scales
  }
  return 0;
}
constexpr std::int64_t panel_bytes(BlockType type, std::int64_t blocks) noexcept {
  return (blocks * panel_number_bytes(type) + panel_scale_bytes(type, blocks) + 63) / 64 * 64;
}

// Calls use.template operator()<type>().
template <class Use>
void with_block_type(BlockType type, Use use) {
  switch (type) {
    case BlockType::q4_0:
      return use.template operator()<BlockType::q4_0>();
    case BlockType::q4_1:
      return use.template operator()<BlockType::q4_1>();
    case BlockType::q8_0:
      return use.template operator()<BlockType::q8_0>();
    case BlockType::q4_k:
      return use.template operator()<BlockType::q4_k>();
    case BlockType::q6_k:
      return use.template operator()<BlockType::q6_k>();
  }
}

// Rows [0, columns) of a stored matrix, columns <= 16, to a panel; its other columns are zeros.
void pack_block_panel(const BlockView& rows, std::int64_t columns, std::byte* panel) noexcept;

// The numbers of one column of a panel as f32, 32 * blocks of them.
void decode_panel_column(BlockType type, const std::byte* panel, std::int64_t blocks, std::int64_t column,
                         float* numbers) noexcept;

// A row of f32 as blocks of Q8_0: count is a multiple of 32. A block with NaN or infinity becomes NaN.
void encode_q8_0(const float* numbers, std::int64_t count, std::byte* blocks) noexcept;

}  // namespace attend::kernels
