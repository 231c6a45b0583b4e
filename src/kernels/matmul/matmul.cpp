#include "kernels/matmul/matmul.h"

#include <algorithm>

namespace attend::kernels {
namespace {

// A tile of c is kRows x kColumns sums, 8 of the 16 vector registers of plain x86-64, which leaves room for
// b and a.
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kColumns = 8;
// This many products are added up before they join the total: the error grows with the block and the number
// of blocks, 128 + 32 at k = 4096, not with k.
constexpr std::int64_t kDepth = 128;
// The packed piece of b, 128 x 32 floats, is 16 KiB: half of a first-level cache.
constexpr std::int64_t kPanels = 4;

// [panel][depth][column]: what a tile reads, in the order in which it reads it, whatever the strides of b.
// Columns beyond n are 0, and their sums are thrown away.
using PackedB = float[kPanels][kDepth][kColumns];

void pack(const float* b, MatrixStrides strides, std::int64_t depth, std::int64_t columns,
          PackedB& packed) noexcept {
  for (std::int64_t first = 0; first < columns; first += kColumns) {
    auto& panel = packed[first / kColumns];
    const std::int64_t count = std::min(kColumns, columns - first);
    for (std::int64_t p = 0; p < depth; ++p) {
      const float* const from = b + p * strides.row + first * strides.column;
      for (std::int64_t j = 0; j < count; ++j) panel[p][j] = from[j * strides.column];
      for (std::int64_t j = count; j < kColumns; ++j) panel[p][j] = 0;
    }
  }
}

// sums = a tile of a b over one block of the depth.
void multiply_tile(const float* const (&a)[kRows], std::int64_t a_step, const float (*b)[kColumns],
                   std::int64_t depth, float (&sums)[kRows][kColumns]) noexcept {
  float tile[kRows][kColumns] = {};
  for (std::int64_t p = 0; p < depth; ++p) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      const float value = a[i][p * a_step];
      for (std::int64_t j = 0; j < kColumns; ++j) tile[i][j] += value * b[p][j];
    }
  }
  for (std::int64_t i = 0; i < kRows; ++i) std::copy_n(tile[i], kColumns, sums[i]);
}

}  // namespace

void matmul(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, MatrixStrides a_strides,
            const float* b, MatrixStrides b_strides, const float* bias, float* c,
            MatrixStrides c_strides) noexcept {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      c[i * c_strides.row + j * c_strides.column] = bias != nullptr ? bias[j] : 0;
    }
  }
  alignas(64) PackedB packed;
  for (std::int64_t p = 0; p < k; p += kDepth) {
    const std::int64_t depth = std::min(kDepth, k - p);
    for (std::int64_t j = 0; j < n; j += kPanels * kColumns) {
      const std::int64_t columns = std::min(kPanels * kColumns, n - j);
      pack(b + p * b_strides.row + j * b_strides.column, b_strides, depth, columns, packed);
      for (std::int64_t i = 0; i < m; i += kRows) {
        // A last tile with fewer rows repeats its last row: the same code then gives every row the same bits.
        const std::int64_t rows = std::min(kRows, m - i);
        const float* a_rows[kRows];
        for (std::int64_t r = 0; r < kRows; ++r) {
          a_rows[r] = a + (i + std::min(r, rows - 1)) * a_strides.row + p * a_strides.column;
        }
        for (std::int64_t first = 0; first < columns; first += kColumns) {
          float sums[kRows][kColumns];
          multiply_tile(a_rows, a_strides.column, packed[first / kColumns], depth, sums);
          float* const tile = c + i * c_strides.row + (j + first) * c_strides.column;
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t s = 0; s < std::min(kColumns, columns - first); ++s) {
              tile[r * c_strides.row + s * c_strides.column] += sums[r][s];
            }
          }
        }
      }
    }
  }
}

}  // namespace attend::kernels
