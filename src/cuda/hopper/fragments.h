// Which element of a tile is where: in the registers of a warpgroup, and in shared memory. Constexpr, so that
// tests/cuda proves on any machine what the kernels take for granted.
#pragma once

#include <cstdint>

#include "cuda/visibility.h"

namespace attend::cuda {

// Sums of wgmma m64nN: register x of thread t (of 128) is this element.
ATTEND_BOTH constexpr int sum_row(int t, int x) { return t / 32 * 16 + t % 32 / 4 + (x & 2) * 4; }
ATTEND_BOTH constexpr int sum_column(int t, int x) { return x / 4 * 8 + t % 4 * 2 + (x & 1); }
// Those of one of a thread's two rows (r = 0, 1), counted from its first.
ATTEND_BOTH constexpr int sum_of_row(int r, int element) { return element / 2 * 4 + 2 * r + element % 2; }

// The first operand from registers, m64k16: half `part` (0, 1) of register r (0 to 3) of thread t.
ATTEND_BOTH constexpr int operand_row(int t, int r) { return t / 32 * 16 + t % 32 / 4 + (r & 1) * 8; }
ATTEND_BOTH constexpr int operand_column(int t, int r, int part) { return t % 4 * 2 + part + (r & 2) * 4; }

// So the sums of 16 neighbouring columns are, two by two, the operand of the next product: register r of step
// s holds the sums x and x + 1.
ATTEND_BOTH constexpr int sum_of_operand(int step, int r) { return 8 * step + 2 * r; }

// Tiles in shared memory: 64 columns of 2 bytes make a row of 128 bytes, swizzled in groups of 8 rows; the
// next 64 columns follow after all rows.
inline constexpr int kRowBytes = 128, kGroupBytes = 8 * kRowBytes, kChunkColumns = 64;

// Where the 16 bytes number `piece` of a row lie in its tile.
ATTEND_BOTH constexpr int swizzled(int row, int piece) { return row * kRowBytes + ((piece ^ row % 8) << 4); }

// Sums of 16 columns, rounded and packed two by two as an operand is, are four matrices of 8 x 8, which
// stmatrix stores at once: lane l has the address of a row of matrix l / 8. That row, and which 16 bytes of
// it.
ATTEND_BOTH constexpr int stored_row(int t) { return t / 32 * 16 + t % 16; }
ATTEND_BOTH constexpr int stored_piece(int t, int step) { return 2 * step + t % 32 / 16; }

// Where wgmma finds an operand. Both forms: address and strides in units of 16 bytes, groups of 8 rows 1024
// bytes apart, 128-byte swizzle.
ATTEND_BOTH constexpr std::uint64_t descriptor(std::uint32_t address, std::uint32_t leading_bytes) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return (address & 0x3FFFF) >> 4 | std::uint64_t{leading_bytes >> 4} << 16 |
         std::uint64_t{kGroupBytes >> 4} << 32 | kSwizzle128;
}
// Rows of q or k, a step of 16 columns: the leading stride is not used there.
ATTEND_BOTH constexpr std::uint64_t row_operand(std::uint32_t tile, int rows, int step) {
  return descriptor(tile + step / 4 * rows * kRowBytes + step % 4 * 32, 16);
}
// Columns of v, a step of 16 keys; 64 columns lie keys * 128 bytes apart. The first operand of a product may
// lie so, too, its rows being the columns here.
ATTEND_BOTH constexpr std::uint64_t column_operand(std::uint32_t tile, int keys, int step) {
  return descriptor(tile + step * 16 * kRowBytes, keys * kRowBytes);
}

// The same in two halves, of which steps change the lower one only. A kernel that is short of registers keeps
// that one and adds constants, where the compiler would keep a descriptor for each step.
struct Operand {
  std::uint32_t low;

  ATTEND_BOTH static constexpr Operand of_rows(std::uint32_t tile) {
    return {static_cast<std::uint32_t>(row_operand(tile, 0, 0))};
  }
  ATTEND_BOTH static constexpr Operand of_columns(std::uint32_t tile, int rows) {
    return {static_cast<std::uint32_t>(column_operand(tile, rows, 0))};
  }
  ATTEND_BOTH constexpr std::uint64_t at(int bytes) const {
    return (descriptor(0, 0) & ~std::uint64_t{0xFFFFFFFF}) | (low + static_cast<std::uint32_t>(bytes >> 4));
  }
  ATTEND_BOTH constexpr std::uint64_t row_step(int rows, int step) const {
    return at(step / 4 * rows * kRowBytes + step % 4 * 32);
  }
  ATTEND_BOTH constexpr std::uint64_t column_step(int step) const { return at(step * 16 * kRowBytes); }
};

}  // namespace attend::cuda
