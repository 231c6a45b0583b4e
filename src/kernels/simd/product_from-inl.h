// The micro-kernel's product with accumulators that start from one row of numbers: dP^T = V dO^T - delta.
#if defined(ATTEND_KERNELS_SIMD_PRODUCT_FROM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_PRODUCT_FROM_INL_H_
#undef ATTEND_KERNELS_SIMD_PRODUCT_FROM_INL_H_
#else
#define ATTEND_KERNELS_SIMD_PRODUCT_FROM_INL_H_
#endif

#include "kernels/simd/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// c[r][v] = start[v] + sum_i a[r * a_row + i] * b[i][v]: b and c have rows of `width` floats.
template <int kR, int kV>
HWY_ATTR HWY_INLINE void kernel_from(std::int64_t n, const float* HWY_RESTRICT a, std::int64_t a_row,
                                     const float* HWY_RESTRICT b, const float* HWY_RESTRICT start,
                                     float* HWY_RESTRICT c, std::int64_t width) {
  const D d;
  const std::int64_t lane = lanes();
  Slot acc[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) acc[r][v] = hn::Load(d, start + v * lane);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    Slot row[kV];
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) row[v] = hn::Load(d, b + i * width + v * lane);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      const V x = hn::Set(d, a[r * a_row + i]);
#pragma GCC unroll 3
      for (int v = 0; v < kV; ++v) acc[r][v] = hn::MulAdd(x, row[v], acc[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) hn::Store(acc[r][v], d, c + r * width + v * lane);
  }
}

template <int kR, int kV>
HWY_ATTR void last_rows_from(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                             const float* b, const float* start, float* c, std::int64_t width) {
  if constexpr (kR > 0) {
    if (rows == kR) {
      kernel_from<kR, kV>(n, a, a_row, b, start, c, width);
    } else {
      last_rows_from<kR - 1, kV>(rows, n, a, a_row, b, start, c, width);
    }
  }
}

template <int kV>
HWY_ATTR void product_from(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                           const float* b, const float* start, float* c, std::int64_t width) {
  std::int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    kernel_from<kRows, kV>(n, a + r * a_row, a_row, b, start, c + r * width, width);
  }
  last_rows_from<kRows - 1, kV>(rows - r, n, a + r * a_row, a_row, b, start, c + r * width, width);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_PRODUCT_FROM_INL_H_
