// The matrix product in f32 over packed weights, with what follows it (bias, activation, residual) fused in.
// One source over Google Highway, compiled for each instruction set, chosen at run time.
#pragma once

#include <cstdint>

#include "kernels/matmul/finish.h"

namespace attend::kernels {

// The right-hand matrix (k, n) is packed as panels of 16 columns, (k, 16) floats each: a row of a panel is
// one cache line, and 16 is a whole number of vectors on every instruction set, so a packed matrix serves
// them all. Columns beyond n are 0, and what comes of them is thrown away.
inline constexpr std::int64_t kPanelColumns = 16;
constexpr std::int64_t panel_count(std::int64_t n) noexcept {
  return (n + kPanelColumns - 1) / kPanelColumns;
}

// The most rows of one call.
inline constexpr std::int64_t kMatmulRows = 128;

// out = activation(a b + bias) + residual, for `rows` rows (at most kMatmulRows) and `columns` columns.
struct MatmulBlock {
  std::int64_t rows = 0, columns = 0, depth = 0;
  const float* a = nullptr;  // (rows, depth), rows a_row apart
  std::int64_t a_row = 0;
  const float* panels = nullptr;  // (panel_count(columns), depth, 16), 64-byte aligned
  const float* ahead = nullptr;   // the panels that this thread will probably read next, or null
  MatmulFinish finish;
};

// Each element of out is a function of its row of a, its column of b, its bias and its residual, to the bit:
// not of how rows and columns are spread over calls.
void matmul(const MatmulBlock& block) noexcept;

}  // namespace attend::kernels
