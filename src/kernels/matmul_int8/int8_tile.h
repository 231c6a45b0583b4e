// The micro-kernels of the product in whole numbers: a few rows times a few panels, summed exactly. One file
// for each kind of instruction; which of them runs is chosen in int8_kernel.cpp.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Columns of b in panels of 16, as in f32; of each column four steps of the depth lie together, because that
// is what the processors multiply and add up at once: (panel, depth / 4 rounded up, 16, 4) bytes. A line of
// 64 bytes is then four steps of one panel.
inline constexpr std::int64_t kInt8Group = 4;
constexpr std::int64_t group_count(std::int64_t depth) noexcept {
  return (depth + kInt8Group - 1) / kInt8Group;
}

// How a row of a is held, q being its number in [0, 255] and z the one that stands for 0.
enum class Int8Form : std::uint8_t {
  u8,   // q
  s8,   // q - 128
  s16,  // q - z, in two bytes: instructions that add up products of 16 bits
};
constexpr std::int64_t bytes_of(Int8Form form) noexcept { return form == Int8Form::s16 ? 2 : 1; }

// sums[r][c] = sum of a[r][i] b[i][c] over 4 * groups steps.
struct Int8Tile {
  std::int64_t rows = 0, panels = 0, groups = 0;
  const void* a = nullptr;             // 64-byte aligned; tiles of AMX read whole lines of whole 16 rows
  std::int64_t a_row = 0;              // bytes from row to row
  const std::int8_t* b = nullptr;      // the first panel; 64-byte aligned
  const std::int8_t* ahead = nullptr;  // panels to fetch meanwhile, as far apart as those of b, or null
  std::int32_t* sums = nullptr;        // (rows up to the next 16, panels * 16), 64-byte aligned
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
