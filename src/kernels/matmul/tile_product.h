// The bf16 product on tiles (AMX): over the same packed panels as matmul_bf16.h, 16 lines of which are a tile
// of 32 rows by 16 columns as they lie.
#pragma once

#include <attend/dtype.h>

#include <cstdint>

#include "kernels/matmul/matmul_bf16.h"

namespace attend::kernels {

// Rows of a are given as tiles of 16 rows by 32 numbers, both rounded up. Numbers beyond the depth are 0;
// rows beyond the last may hold anything, and nothing comes of them.
inline constexpr std::int64_t kRowsOfTile = 16, kDepthOfTile = 32;

// Where they are, in numbers.
struct RowTiles {
  const bfloat16* first = nullptr;
  std::int64_t row = kDepthOfTile;                  // from a row of a tile to the next
  std::int64_t along = kRowsOfTile * kDepthOfTile;  // from a tile to the next along the depth
  std::int64_t down = 0;                            // from a tile to that of the next 16 rows
};

// Tiles that are made of rows lie one behind the other: (rows / 16, depth / 32, 16, 32), 64-byte aligned.
constexpr std::int64_t tile_row_numbers(std::int64_t depth) noexcept {
  return (depth + kDepthOfTile - 1) / kDepthOfTile * (kDepthOfTile * kRowsOfTile);
}

// Whether the instruction set in use has tiles.
bool multiplies_tiles() noexcept;

// Where the line of a row begins in its first tile.
constexpr std::int64_t line_of_row(std::int64_t row, std::int64_t depth) noexcept {
  return row / kRowsOfTile * tile_row_numbers(depth) + row % kRowsOfTile * kDepthOfTile;
}

// `count` numbers of one row into the lines of its tiles, of which `line` is the first: rounded to nearest,
// subnormal numbers to 0, and filled up with zeros.
void put_in_tiles(const float* numbers, std::int64_t count, bfloat16* line) noexcept;
void put_in_tiles(const bfloat16* numbers, std::int64_t count, bfloat16* line) noexcept;  // as they are

// As matmul_bf16(), and the same promise: an element is a function of its row of a, its column of b, its bias
// and its residual. Its sum runs through the depth 32 numbers at a time, even and odd places of them apart;
// subnormal numbers count as 0.
void matmul_tiles(const RowTiles& a, const MatmulBf16Block& block) noexcept;

}  // namespace attend::kernels
