// The matrix product in whole numbers of 8 bits: sums of 128 steps are exact; they become f32 with the scales
// of their row and column, and go on as those of the f32 product do.
#pragma once

#include <cstdint>

#include "kernels/matmul/finish.h"
#include "kernels/matmul_int8/int8_tile.h"

namespace attend::kernels {

// The most elements of a row outside of its range, and how far the furthest is, counted in widths of the
// range. Where leaving them in widens a side of the range by no more than this part of it, they are none.
inline constexpr int kInt8Outliers = 8, kInt8Reach = 120;
inline constexpr float kInt8Widening = 0.2F;

// A row as held: the number of an element is scale * (q - zero). A row that has a NaN or an infinity has a
// scale of NaN, and so has all that comes of it.
struct Int8Row {
  float scale;
  float zero;  // a whole number, as `form` holds it
  // What is left of the elements whose q is outside of [0, 255].
  struct Outlier {
    std::int32_t group, place;  // of the depth; in the group
    float rest;                 // q - 255, or q: a whole number
  };
  std::int32_t outlier_count;
  Outlier outliers[kInt8Outliers];
};

// Bytes from one row of such a depth to the next: whole cache lines, and an odd number of them, because rows
// a power of two apart share a few places of the first-level cache.
constexpr std::int64_t int8_row_bytes(std::int64_t depth, Int8Form form) noexcept {
  return (group_count(depth) * kInt8Group * bytes_of(form) + 63) / 64 / 2 * 128 + 64;
}

// Each row (rows, depth) to whole numbers: 256 of them between the third greatest and the third least of its
// elements, 0 included, which is then exact, and the few beyond them as they come. One element in a hundred
// that is ten times as large as the others would else take three bits from all of them. The second or the
// first stands for the third where it is hardly further out. They are those of 16 numbers, the greatest at
// each place modulo 16, which vectors find. Where more than kInt8Outliers are beyond, the range is that of
// all elements. Filled up to whole groups. `to` is 64-byte aligned, its rows int8_row_bytes() apart.
void quantise_rows(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t depth,
                   Int8Form form, void* to, Int8Row* scales) noexcept;

// out = activation(a b + bias) + residual.
struct Int8Block {
  std::int64_t rows = 0, columns = 0, groups = 0;
  const void* a = nullptr;  // by quantise_rows(), in the form of int8_kernel(); kInt8RowsRead
  std::int64_t a_row = 0;   // bytes
  const Int8Row* a_scales = nullptr;
  const std::int8_t* panels = nullptr;  // int8_panel_bytes(groups) each
  const std::int8_t* ahead = nullptr;   // what this thread will probably read next, or null
  const float* b_scales = nullptr;      // (columns) rounded up to whole panels, 64-byte aligned
  const float* b_sums = nullptr;        // the same: each column added up, its blocks scaled, it itself not
  MatmulFinish finish;
};

void matmul_int8(const Int8Block& block) noexcept;

}  // namespace attend::kernels
