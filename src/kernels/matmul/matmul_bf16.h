// The matrix product over weights packed as bf16, summed in f32, with what follows it fused in. Where the
// processor multiplies bf16 (AVX512-BF16) rows are given in bf16, elsewhere in f32, and the weights are
// widened.
#pragma once

#include <attend/dtype.h>

#include <cstdint>

#include "kernels/matmul/finish.h"
#include "kernels/matmul/matmul.h"

namespace attend::kernels {

// The right-hand matrix (k, n) is packed as panels of 16 columns, as that of f32 is, but two rows of it share
// a line: 16 pairs of bf16, row 2i in the lower halves and row 2i + 1 in the upper ones. Rows beyond k and
// columns beyond n are 0.
constexpr std::int64_t pair_count(std::int64_t k) noexcept { return (k + 1) / 2; }

struct MatmulBf16Block {
  std::int64_t rows = 0, columns = 0, depth = 0;
  const std::uint32_t* panels = nullptr;  // (panel_count(columns), pair_count(depth), 16), 64-byte aligned
  const std::uint32_t* ahead = nullptr;   // the panels that this thread will probably read next, or null
  MatmulFinish finish;
};

// Whether the instruction set in use multiplies pairs of bf16: then rows are given in bf16, else in f32.
bool multiplies_bf16() noexcept;

// As matmul(): each element of out is a function of its row of a, its column of b, its bias and its residual.
// a: (rows, depth), rows a_row apart; those of bf16 have an even number of elements, the last of an odd depth
// 0.
void matmul_bf16(const bfloat16* a, std::int64_t a_row, const MatmulBf16Block& block) noexcept;
void matmul_bf16(const float* a, std::int64_t a_row, const MatmulBf16Block& block) noexcept;

}  // namespace attend::kernels
