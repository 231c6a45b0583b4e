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

#include <hwy/cache_control.h>

#include "kernels/simd/gelu-inl.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/panel_kernel-inl.h"
#include "kernels/simd/partial-inl.h"

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

// The sums of one tile, at `sums`, to their place in out.
template <Activation kActivation>
HWY_ATTR void finish_as(const MatmulBlock& block, std::int64_t first, std::int64_t rows, std::int64_t column,
                        std::int64_t columns, const float* sums, std::int64_t width) {
  const D d;
  for (std::int64_t j = 0; j < columns; j += lanes()) {
    const std::int64_t count = columns - j;
    const V bias = block.bias != nullptr ? load_some(block.bias + column + j, count) : hn::Zero(d);
    for (std::int64_t r = 0; r < rows; ++r) {
      V x = hn::Add(hn::Load(d, sums + r * width + j), bias);
      if constexpr (kActivation == Activation::gelu) x = gelu_erf(x);
      if constexpr (kActivation == Activation::gelu_tanh) x = gelu_tanh(x);
      // Not Max, which loses NaN on some instruction sets.
      if constexpr (kActivation == Activation::relu) x = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
      if constexpr (kActivation == Activation::silu) x = hn::Mul(x, sigmoid(x).share);
      if (block.residual != nullptr) {
        x = hn::Add(x, load_some(block.residual + (first + r) * block.residual_row + column + j, count));
      }
      store_some(x, block.out + (first + r) * block.out_row + column + j, count);
    }
  }
}

HWY_ATTR void finish(const MatmulBlock& block, std::int64_t first, std::int64_t rows, std::int64_t column,
                     std::int64_t columns, const float* sums, std::int64_t width) {
  switch (block.activation) {
    case Activation::none:
      return finish_as<Activation::none>(block, first, rows, column, columns, sums, width);
    case Activation::gelu:
      return finish_as<Activation::gelu>(block, first, rows, column, columns, sums, width);
    case Activation::gelu_tanh:
      return finish_as<Activation::gelu_tanh>(block, first, rows, column, columns, sums, width);
    case Activation::relu:
      return finish_as<Activation::relu>(block, first, rows, column, columns, sums, width);
    case Activation::silu:
      return finish_as<Activation::silu>(block, first, rows, column, columns, sums, width);
  }
}

// Brings what finish() reads and writes into the cache while the sums are made: at k = 384 two percent.
HWY_ATTR HWY_INLINE void prefetch(const MatmulBlock& block, std::int64_t first, std::int64_t rows,
                                  std::int64_t column, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < columns; j += kPanelColumns) {
      hwy::Prefetch(block.out + (first + r) * block.out_row + column + j);
      if (block.residual != nullptr) {
        hwy::Prefetch(block.residual + (first + r) * block.residual_row + column + j);
      }
    }
  }
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
      if (last) prefetch(block, r, rows, column, columns);
      tile<kTileRows, kV>(rows, p > 0, depth, block.a + r * block.a_row + p, block.a_row, b, sums + r * width,
                          width, ahead);
      if (ahead.panels != nullptr) ahead.panels += ahead.step * kPanelColumns;
      if (last) finish(block, r, rows, column, columns, sums + r * width, width);
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
