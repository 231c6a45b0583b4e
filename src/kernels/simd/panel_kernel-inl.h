// The micro-kernel of the matrix product: rows read in place by broadcast, times panels of packed columns,
// summed in registers.
#if defined(ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_
#undef ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_
#else
#define ATTEND_KERNELS_SIMD_PANEL_KERNEL_INL_H_
#endif

#include <algorithm>

#include "kernels/matmul/matmul.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Accumulators: kTileRows broadcasts against kTileVectors vectors of columns. 32 registers of 16 floats hold
// 8 x 3, three panels at once; 16 hold 6 x 2, which is one panel of 8-float vectors. NEON's 32 of 4
// floats hold 5 x 4, one panel: gcc loads the elements of all rows first, and at 6 x 4 spills two sums.
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

// Where the vector that starts at a column is in a packed matrix of that depth.
HWY_INLINE const float* panel_vector(const float* panels, std::int64_t depth, std::int64_t column) {
  return panels + column / kPanelColumns * depth * kPanelColumns + column % kPanelColumns;
}

// What is multiplied next: `step` rows of it, of panels that are `apart` floats from each other, are brought
// into the second-level cache meanwhile, spread evenly. Null: nothing is.
struct Ahead {
  const float* panels = nullptr;
  std::int64_t apart = 0, step = 0;
};

// c[r][v] (+)= sum_i a[r * a_row + i] * b[v][i * kPanelColumns], i < n; rows of c are c_row apart. One sum
// runs through the products in their order, so its bits do not depend on the tile that it is in.
template <int kR, int kV, bool kAdd, bool kAhead>
HWY_ATTR HWY_INLINE void panel_kernel(std::int64_t n, const float* HWY_RESTRICT a, std::int64_t a_row,
                                      const float* const (&b)[kV], float* HWY_RESTRICT c, std::int64_t c_row,
                                      const Ahead& ahead) {
  const D d;
  const std::int64_t lane = lanes();
  Slot acc[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) acc[r][v] = hn::Zero(d);
  }
  const std::int64_t every = kAhead ? (n + ahead.step - 1) / ahead.step : n;
  const float* next = ahead.panels;
  for (std::int64_t i = 0; i < n;) {
    if constexpr (kAhead) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) {
        if (v * lane % kPanelColumns == 0)
          __builtin_prefetch(next + v * lane / kPanelColumns * ahead.apart, 0, 2);
      }
      next += kPanelColumns;
    }
    for (const std::int64_t stop = std::min(n, i + every); i < stop; ++i) {
      Slot row[kV];
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) row[v] = hn::Load(d, b[v] + i * kPanelColumns);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) {
        const V x = hn::Set(d, a[r * a_row + i]);
#pragma GCC unroll 4
        for (int v = 0; v < kV; ++v) acc[r][v] = hn::MulAdd(x, row[v], acc[r][v]);
      }
    }
  }
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
