// The micro-kernel of the matrix product: rows read in place by broadcast, times panels of packed columns,
// summed in registers.
#if defined(ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_
#undef ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_
#else
#define ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "kernels/matmul/matmul.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Accumulators: kTileRows broadcasts against kTileVectors vectors of columns. 32 registers of 16 floats hold
// 8 x 3, three panels at once; AVX2's 16 hold 4 x 3, a panel and a half of 8-float vectors, SSE4's 6 x 2.
// NEON's 32 of 4 floats hold 5 x 4, one panel: gcc loads the elements of all rows first, and at 6 x 4 spills
// two sums.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kTileRows = 8, kTileVectors = 3;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 4, kTileVectors = 3;
#elif HWY_TARGET == HWY_NEON
constexpr int kTileRows = 5, kTileVectors = 4;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kTileRows = 3, kTileVectors = 4;
#else
constexpr int kTileRows = 6, kTileVectors = 2;
#endif

// Where the vector that starts at a column is in a packed matrix of that many lines.
template <class Word>
HWY_INLINE const Word* panel_vector(const Word* panels, std::int64_t depth, std::int64_t column) {
  return panels + column / kPanelColumns * depth * kPanelColumns + column % kPanelColumns;
}

// What is multiplied next: `step` rows of it, of panels that are `apart` floats from each other, are brought
// into the second-level cache meanwhile, spread evenly. Null: nothing is.
struct Ahead {
  const float* panels = nullptr;
  std::int64_t apart = 0, step = 0;
};

// A line of a panel is a row of it, 16 floats, or two rows of bf16: 16 pairs, the first row in the lower
// halves. Row number kRow of a line as floats, which is exact.
template <int kRow>
HWY_ATTR HWY_INLINE V line_row(const float* line) {
  return hn::Load(D(), line);
}

template <int kRow>
HWY_ATTR HWY_INLINE V line_row(const std::uint32_t* line) {
  const hn::RebindToUnsigned<D> du;
  const auto pairs = hn::Load(du, line);
  return hn::BitCast(D(), kRow == 0 ? hn::ShiftLeft<16>(pairs) : hn::And(pairs, hn::Set(du, 0xffff0000u)));
}

// acc[r][v] += a[r * a_row] * row kRow of the line at b[v] + place.
template <int kRow, int kR, int kV, class Word>
HWY_ATTR HWY_INLINE void add_line_row(Slot (&acc)[kR][kV], const float* HWY_RESTRICT a, std::int64_t a_row,
                                      const Word* const (&b)[kV], std::int64_t place) {
  Slot row[kV];
#pragma GCC unroll 4
  for (int v = 0; v < kV; ++v) row[v] = line_row<kRow>(b[v] + place);
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
    const V x = hn::Set(D(), a[r * a_row]);
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) acc[r][v] = hn::MulAdd(x, row[v], acc[r][v]);
  }
}

// c[r][v] (+)= sum_i a[r * a_row + i] * row i of the panel at b[v], i < n; rows of c are c_row apart. One sum
// runs through the products in their order, so its bits do not depend on the tile that it is in. Panels are
// of floats, or of pairs of bf16 (std::uint32_t).
template <int kR, int kV, bool kAdd, bool kAhead, class Word>
HWY_ATTR HWY_INLINE void panel_kernel(std::int64_t n, const float* HWY_RESTRICT a, std::int64_t a_row,
                                      const Word* const (&b)[kV], float* HWY_RESTRICT c, std::int64_t c_row,
                                      const Ahead& ahead) {
  constexpr bool kPairs = !std::is_same_v<Word, float>;
  constexpr int kLineRows = kPairs ? 2 : 1;
  const D d;
  const std::int64_t lane = lanes();
  Slot acc[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) acc[r][v] = hn::Zero(d);
  }
  const std::int64_t lines = n / kLineRows, every = kAhead ? (lines + ahead.step - 1) / ahead.step : lines;
  const float* next = ahead.panels;
  for (std::int64_t i = 0; i < lines;) {
    if constexpr (kAhead) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) {
        if (v * lane % kPanelColumns == 0)
          __builtin_prefetch(next + v * lane / kPanelColumns * ahead.apart, 0, 2);
      }
      next += kPanelColumns;
    }
    for (const std::int64_t stop = std::min(lines, i + every); i < stop; ++i) {
      add_line_row<0>(acc, a + i * kLineRows, a_row, b, i * kPanelColumns);
      if constexpr (kPairs) add_line_row<1>(acc, a + i * kLineRows + 1, a_row, b, i * kPanelColumns);
    }
  }
  if (kPairs && n % 2 != 0) add_line_row<0>(acc, a + n - 1, a_row, b, lines * kPanelColumns);
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) {
      float* const at = c + r * c_row + v * lane;
      const V sum = acc[r][v];
      hn::Store(kAdd ? hn::Add(hn::Load(d, at), sum) : sum, d, at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_
