// How a block of a product over packed panels is walked, whatever its numbers are held in: a few panels at a
// time, for parts of the depth, for all rows; the last part's tiles go on to what ends the product.
#if defined(ATTEND_KERNELS_MATMUL_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_MATMUL_STRIPS_INL_H_
#undef ATTEND_KERNELS_MATMUL_STRIPS_INL_H_
#else
#define ATTEND_KERNELS_MATMUL_STRIPS_INL_H_
#endif

#include <algorithm>

#include "kernels/matmul/finish-inl.h"
#include "kernels/simd/panel_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// The depth in equal parts of at most `most`, which is what is added up before it joins the total: the error
// grows with the part and the number of parts, not with the depth. A function of the depth alone, as the bits
// of a row must be.
HWY_INLINE std::int64_t part_of(std::int64_t depth, std::int64_t most) {
  const std::int64_t parts = (depth + most - 1) / most;
  return parts <= 1 ? depth : (depth + parts - 1) / parts;
}

// The panels of a block and of the one after it (or null): lines of 16 words, `depth` of them a panel. A word
// is a float, or a pair of bf16 that stands where a float would.
struct PanelLines {
  const float* panels = nullptr;
  const float* next = nullptr;
  std::int64_t depth = 0;
};

// What is multiplied after `done` lines of the panels at `column`, for each tile of rows its share. Where
// tiles are few the first of them would wait for weights from the third-level cache or from memory while the
// others leave those idle. Where they are many that is little, and prefetching costs as much as it gains.
HWY_INLINE Ahead part_ahead(const PanelLines& lines, std::int64_t tiles, std::int64_t part,
                            std::int64_t column, std::int64_t width, std::int64_t done,
                            std::int64_t columns) {
  // On AVX2, whose tiles take half as long for each line of weights, it gains 1 to 3 points up to 128 rows.
  constexpr std::int64_t kFewTiles = HWY_TARGET == HWY_AVX2 ? kMatmulRows : 4;
  if (tiles > kFewTiles || lines.depth == 0) return {};
  Ahead ahead{lines.next, lines.depth * kPanelColumns, (part + tiles - 1) / tiles};
  if (done < lines.depth) {
    ahead.panels = panel_vector(lines.panels, lines.depth, column) + done * kPanelColumns;
  } else if (column + width < columns) {
    ahead.panels = panel_vector(lines.panels, lines.depth, column + width);
  }
  return ahead;
}

// Where the vectors of a strip are for one part of the depth, as `Word`s.
template <class Word, int kV>
struct StripPart {
  const Word* b[kV];
  Ahead ahead;
};

// The columns [column, column + columns) of all rows, columns <= kV vectors. A Product has the block's rows,
// columns, depth and finish, the part of the depth that is taken at a time, and
//   kRows                                    the rows of a tile
//   start<kV>(column, first, depth)          a StripPart
//   multiply<kV>(part, row, rows, first, depth, sums, width)   adds to sums, or sets them where first is 0
template <int kV, class Product>
HWY_ATTR void strip(const Product& product, std::int64_t column, std::int64_t columns, float* sums) {
  if constexpr (kV > 1) {
    if (columns <= (kV - 1) * lanes()) return strip<kV - 1>(product, column, columns, sums);
  }
  const std::int64_t width = kV * lanes();
  std::int64_t p = 0;
  do {
    const std::int64_t depth = std::min(product.part, product.depth - p);
    const bool last = p + depth == product.depth;
    auto part = product.template start<kV>(column, p, depth);
    for (std::int64_t r = 0; r < product.rows; r += Product::kRows) {
      const std::int64_t rows = std::min<std::int64_t>(Product::kRows, product.rows - r);
      if (last) prefetch(product.finish, r, rows, column, columns);
      product.template multiply<kV>(part, r, rows, p, depth, sums + r * width, width);
      if (part.ahead.panels != nullptr) part.ahead.panels += part.ahead.step * kPanelColumns;
      if (last) finish(product.finish, r, rows, column, columns, sums + r * width, width);
    }
    p += depth;
  } while (p < product.depth);
}

template <class Product>
HWY_ATTR void multiply_strips(const Product& product) {
  HWY_ALIGN float sums[kMatmulRows * kTileVectors * HWY_MAX_BYTES / sizeof(float)];
  const std::int64_t width = kTileVectors * lanes();
  for (std::int64_t column = 0; column < product.columns; column += width) {
    strip<kTileVectors>(product, column, std::min(width, product.columns - column), sums);
  }
}

// Rows of f32, read where they lie, times panels of floats or of pairs: what a Product of such rows
// multiplies with.
struct FloatRows {
  static constexpr int kRows = kTileRows;

  template <int kV, class Word>
  HWY_ATTR void multiply(const StripPart<Word, kV>& part, std::int64_t row, std::int64_t count,
                         std::int64_t first, std::int64_t part_depth, float* sums, std::int64_t width) const {
    tile<kRows, kV>(part, count, first > 0, part_depth, a + row * a_row + first, sums, width);
  }

  // `count` rows, count <= kR.
  template <int kR, int kV, class Word>
  HWY_ATTR void tile(const StripPart<Word, kV>& part, std::int64_t count, bool add, std::int64_t part_depth,
                     const float* from, float* sums, std::int64_t width) const {
    if constexpr (kR > 1) {
      if (count < kR) return tile<kR - 1, kV>(part, count, add, part_depth, from, sums, width);
    }
    if (part.ahead.panels != nullptr) {
      add ? panel_kernel<kR, kV, true, true>(part_depth, from, a_row, part.b, sums, width, part.ahead)
          : panel_kernel<kR, kV, false, true>(part_depth, from, a_row, part.b, sums, width, part.ahead);
    } else {
      add ? panel_kernel<kR, kV, true, false>(part_depth, from, a_row, part.b, sums, width, part.ahead)
          : panel_kernel<kR, kV, false, false>(part_depth, from, a_row, part.b, sums, width, part.ahead);
    }
  }

  const float* a = nullptr;
  std::int64_t a_row = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_MATMUL_STRIPS_INL_H_
