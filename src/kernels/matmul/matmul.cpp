// How it works: columns of b are in vector lanes, three panels at a time; rows of a are read in place by
// broadcast. For each group of columns the depth is taken in parts, and for each part all rows: the part of
// the panels, 128 x 48 floats, stays in the cache while the rows go by. The sums of a part join those of the
// parts before it in a strip of 128 rows, and the last part's tiles go on to bias, activation and residual
// while they are in the first-level cache.
#include "kernels/matmul/matmul.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul.cpp"
#include <hwy/foreach_target.h>

#include "kernels/matmul/finish-inl.h"
#include "kernels/simd/panel_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// This many products are added up, at most, before they join the total: the error grows with the part and the
// number of parts, not with k. A function of k alone, as the bits of a row must be.
constexpr std::int64_t kMaxPart = 128;

HWY_INLINE std::int64_t part_of(std::int64_t depth) {
  const std::int64_t parts = (depth + kMaxPart - 1) / kMaxPart;
  return parts <= 1 ? depth : (depth + parts - 1) / parts;
}

// Rows [first, first + rows), rows <= kR, of one part.
template <int kR, int kV>
HWY_ATTR void tile(std::int64_t rows, bool add, std::int64_t depth, const float* a, std::int64_t a_row,
                   const float* const (&b)[kV], float* sums, std::int64_t width, const Ahead& ahead) {
  if constexpr (kR > 1) {
    if (rows < kR) return tile<kR - 1, kV>(rows, add, depth, a, a_row, b, sums, width, ahead);
  }
  if (ahead.panels != nullptr) {
    add ? panel_kernel<kR, kV, true, true>(depth, a, a_row, b, sums, width, ahead)
        : panel_kernel<kR, kV, false, true>(depth, a, a_row, b, sums, width, ahead);
  } else {
    add ? panel_kernel<kR, kV, true, false>(depth, a, a_row, b, sums, width, ahead)
        : panel_kernel<kR, kV, false, false>(depth, a, a_row, b, sums, width, ahead);
  }
}

// What is multiplied after `done` rows of the panels at `column`, for each tile of rows its share. Where
// tiles are few the first of them would wait for weights from the third-level cache or from memory while the
// others leave those idle. Where they are many that is little, and prefetching costs as much as it gains.
HWY_INLINE Ahead part_ahead(const MatmulBlock& block, std::int64_t column, std::int64_t width,
                            std::int64_t done) {
  constexpr std::int64_t kFewTiles = 4;
  const std::int64_t tiles = (block.rows + kTileRows - 1) / kTileRows;
  if (tiles > kFewTiles || block.depth == 0) return {};
  Ahead ahead{block.ahead, block.depth * kPanelColumns, (part_of(block.depth) + tiles - 1) / tiles};
  if (done < block.depth) {
    ahead.panels = panel_vector(block.panels, block.depth, column) + done * kPanelColumns;
  } else if (column + width < block.columns) {
    ahead.panels = panel_vector(block.panels, block.depth, column + width);
  }
  return ahead;
}

// The columns [column, column + columns) of all rows, columns <= kV vectors.
template <int kV>
HWY_ATTR void strip(const MatmulBlock& block, std::int64_t column, std::int64_t columns, float* sums) {
  if constexpr (kV > 1) {
    if (columns <= (kV - 1) * lanes()) return strip<kV - 1>(block, column, columns, sums);
  }
  const std::int64_t width = kV * lanes(), part = part_of(block.depth);
  std::int64_t p = 0;
  do {
    const std::int64_t depth = std::min(part, block.depth - p);
    const bool last = p + depth == block.depth;
    const float* b[kV];
    for (int v = 0; v < kV; ++v) {
      b[v] = panel_vector(block.panels, block.depth, column + v * lanes()) + p * kPanelColumns;
    }
    Ahead ahead = part_ahead(block, column, width, p + depth);
    for (std::int64_t r = 0; r < block.rows; r += kTileRows) {
      const std::int64_t rows = std::min<std::int64_t>(kTileRows, block.rows - r);
      if (last) prefetch(block.finish, r, rows, column, columns);
      tile<kTileRows, kV>(rows, p > 0, depth, block.a + r * block.a_row + p, block.a_row, b, sums + r * width,
                          width, ahead);
      if (ahead.panels != nullptr) ahead.panels += ahead.step * kPanelColumns;
      if (last) finish(block.finish, r, rows, column, columns, sums + r * width, width);
    }
    p += depth;
  } while (p < block.depth);
}

HWY_ATTR void multiply(const MatmulBlock& block) {
  HWY_ALIGN float sums[kMatmulRows * kTileVectors * HWY_MAX_BYTES / sizeof(float)];
  const std::int64_t width = kTileVectors * lanes();
  for (std::int64_t column = 0; column < block.columns; column += width) {
    strip<kTileVectors>(block, column, std::min(width, block.columns - column), sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(multiply);

}  // namespace

void matmul(const MatmulBlock& block) noexcept { HWY_DYNAMIC_DISPATCH(multiply)(block); }

}  // namespace attend::kernels
#endif
