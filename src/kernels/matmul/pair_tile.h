// The micro-kernel of the bf16 product where the processor has AVX512-BF16: pairs of numbers, read by
// broadcast, times lines of 16 pairs, summed in f32 registers.
#pragma once

#include <attend/dtype.h>

#include <cstdint>

namespace attend::kernels {

// A tile has at most so many rows, and so many panels: 24 registers of sums.
inline constexpr int kPairTileRows = 8, kPairTilePanels = 3;

// c[r][v] (+)= sum_i a[r * a_row + i] b[v][i], over 2 * pairs elements. The sum of an element runs through
// the pairs in order; of a pair the second product is added first, and each addition rounds to nearest.
// Subnormal factors count as 0, and so do subnormal sums: that is how the instruction is defined.
struct PairTile {
  std::int64_t rows = 0, panels = 0, pairs = 0;
  const bfloat16* a = nullptr;
  std::int64_t a_row = 0;
  const std::uint32_t* const* b = nullptr;  // where the lines of each panel begin
  float* sums = nullptr;                    // rows are `width` apart and aligned to 64 bytes
  std::int64_t width = 0;
  bool add = false;
  const float* ahead =
      nullptr;  // as Ahead has it: `step` lines to fetch, of panels that are `apart`; or null
  std::int64_t apart = 0, step = 0;
};

// Only where multiplies_bf16() holds.
void multiply_pair_tile(const PairTile& tile) noexcept;

}  // namespace attend::kernels
