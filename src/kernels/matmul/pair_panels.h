// Matrices of f32 rounded into the pairs that the bf16 product multiplies, as quickly as they are read: for a
// training, in which each product has matrices of its own. Only where multiplies_bf16() holds.
//
// Rounded to nearest, ties to even, as everywhere; subnormal numbers become 0, for which the product takes
// them anyway.
#pragma once

#include <attend/dtype.h>

#include <cstdint>

#include "kernels/matmul/matmul_bf16.h"

namespace attend::kernels {

// The most numbers of a row, and rows, that lie in one line of 64 bytes after rounding.
inline constexpr std::int64_t kNumbersOfLine = 32;

// A part of a right-hand matrix, in panels of 16 columns (matmul_bf16.h) that are `panel_step` words apart.
// Numbers beyond `depth` and `columns` are 0.
struct PairPanelsOut {
  std::int64_t depth = 0, columns = 0;
  std::uint32_t* panels = nullptr;  // 64-byte aligned
  std::int64_t panel_step = 0;
};
// Row p of it is at w + p * step.
void weave_panels(const float* w, std::int64_t step, const PairPanelsOut& out) noexcept;
// Column j of it is at w + j * step.
void turn_panels(const float* w, std::int64_t step, const PairPanelsOut& out) noexcept;

// A left-hand matrix, given by its columns: column p is at x + p * step, `rows` numbers. Row i of the result
// is lines of 32 numbers, of which line s is at to + i / 16 * sixteen_rows + i % 16 * row + s * line; numbers
// beyond `depth` are 0. With the steps of tile_product.h that makes tiles.
struct PairRowsOut {
  std::int64_t rows = 0, depth = 0;
  bfloat16* to = nullptr;  // 64-byte aligned
  std::int64_t sixteen_rows = 0, row = 0, line = 0;
};
void turn_rows(const float* x, std::int64_t step, const PairRowsOut& out) noexcept;

}  // namespace attend::kernels
