// The micro-kernels of the product in whole numbers: a few rows times a few panels, summed exactly. One file
// for each kind of instruction; which of them runs is chosen in int8_kernel.cpp.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Columns of b in panels of 16, as in f32; of each column four steps of the depth lie together, because that
// is what the processors multiply and add up at once. A line of 64 bytes is then four steps of one panel.
// After 32 lines, or the last, comes one with a scale for each column, which is of these lines alone: one
// large weight takes bits from 127 others instead of from all of its column.
inline constexpr std::int64_t kInt8Group = 4, kInt8Line = 64, kInt8BlockGroups = 32;
inline constexpr std::int64_t kInt8BlockDepth = kInt8BlockGroups * kInt8Group;
constexpr std::int64_t group_count(std::int64_t depth) noexcept {
  return (depth + kInt8Group - 1) / kInt8Group;
}
constexpr std::int64_t int8_blocks(std::int64_t groups) noexcept {
  return (groups + kInt8BlockGroups - 1) / kInt8BlockGroups;
}
constexpr std::int64_t int8_panel_bytes(std::int64_t groups) noexcept {
  return (groups + int8_blocks(groups)) * kInt8Line;
}
// Where the line of a group is in a panel, and that of the scales of its block.
constexpr std::int64_t int8_line(std::int64_t group) noexcept {
  return (group + group / kInt8BlockGroups) * kInt8Line;
}
constexpr std::int64_t int8_scales_line(std::int64_t group, std::int64_t groups) noexcept {
  const std::int64_t block = group / kInt8BlockGroups, after = (block + 1) * kInt8BlockGroups;
  return ((after < groups ? after : groups) + block) * kInt8Line;
}

// How a row of a is held, q being its number in [0, 255].
enum class Int8Form : std::uint8_t {
  u8,   // q
  s8,   // q - 128
  s16,  // q, in two bytes: instructions that add up products of 16 bits
};
constexpr std::int64_t bytes_of(Int8Form form) noexcept { return form == Int8Form::s16 ? 2 : 1; }

// sums[r][c] = the sum, over the blocks of the depth, of the block's scale for c times the sum of
// a[r][i] b[i][c]: the latter exact, then a product and a sum of f32, never fused, so that every instruction
// set makes the same bits.
struct Int8Tile {
  std::int64_t rows = 0, panels = 0, groups = 0;  // one group at least
  const void* a = nullptr;             // 64-byte aligned; tiles of AMX read whole lines of whole 16 rows
  std::int64_t a_row = 0;              // bytes from row to row
  const std::int8_t* b = nullptr;      // the first panel; 64-byte aligned
  const std::int8_t* ahead = nullptr;  // panels to fetch meanwhile, as far apart as those of b, or null
  float* sums = nullptr;               // (rows, panels * 16), 64-byte aligned
};

// At most `rows` rows and `panels` panels a tile.
struct Int8Kernel {
  Int8Form form;
  std::int64_t rows, panels;
  void (*multiply)(const Int8Tile& tile) noexcept;
};
inline constexpr std::int64_t kMostInt8Rows = 64, kMostInt8Panels = 3, kMostInt8Sums = 64 * 2 * 16;
// Rows of a are given in whole numbers of these; what stands in those after the last does not matter.
inline constexpr std::int64_t kInt8RowsRead = 16;

// The best of the instruction set in use. After require_isa().
const Int8Kernel& int8_kernel() noexcept;

#if defined(__x86_64__)
extern const Int8Kernel kInt8Amx, kInt8Avx512Vnni, kInt8AvxVnni;
#elif defined(__aarch64__)
extern const Int8Kernel kInt8Neon, kInt8NeonDot;
#endif
extern const Int8Kernel kInt8Words;

}  // namespace attend::kernels
