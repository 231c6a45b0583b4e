// The product that everything is made of: a few rows, read by broadcast, times a few vectors, summed in
// registers.
#if defined(ATTEND_KERNELS_SIMD_MICRO_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_MICRO_KERNEL_INL_H_
#undef ATTEND_KERNELS_SIMD_MICRO_KERNEL_INL_H_
#else
#define ATTEND_KERNELS_SIMD_MICRO_KERNEL_INL_H_
#endif

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Accumulators of the micro-kernel: kRows broadcasts against kVectors vectors of queries. 32 registers hold 8
// x 3, 16 hold 6 x 2.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kRows = 8, kVectors = 3;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kRows = 4, kVectors = 1;
#else
constexpr int kRows = 6, kVectors = 2;
#endif
// c[r][v] (+)= sum_n a[r * a_row + n * a_step] * b[n][v]: b and c have rows of `width` floats.
template <int kR, int kV, bool kAdd>
HWY_ATTR HWY_INLINE void micro_kernel(std::int64_t n, const float* HWY_RESTRICT a, std::int64_t a_row,
                                      std::int64_t a_step, const float* HWY_RESTRICT b, float* HWY_RESTRICT c,
                                      std::int64_t width) {
  const D d;
  const std::int64_t lane = lanes();
  V acc[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) acc[r][v] = kAdd ? hn::Load(d, c + r * width + v * lane) : hn::Zero(d);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    V row[kV];
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) row[v] = hn::Load(d, b + i * width + v * lane);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      const V x = hn::Set(d, a[r * a_row + i * a_step]);
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

// rows < kRows of them at the end of a tile.
template <int kR, int kV, bool kAdd>
HWY_ATTR void last_rows(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                        std::int64_t a_step, const float* b, float* c, std::int64_t width) {
  if constexpr (kR > 0) {
    if (rows == kR) {
      micro_kernel<kR, kV, kAdd>(n, a, a_row, a_step, b, c, width);
    } else {
      last_rows<kR - 1, kV, kAdd>(rows, n, a, a_row, a_step, b, c, width);
    }
  }
}

template <int kV, bool kAdd>
HWY_ATTR void product(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                      std::int64_t a_step, const float* b, float* c, std::int64_t width) {
  std::int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    micro_kernel<kRows, kV, kAdd>(n, a + r * a_row, a_row, a_step, b, c + r * width, width);
  }
  last_rows<kRows - 1, kV, kAdd>(rows - r, n, a + r * a_row, a_row, a_step, b, c + r * width, width);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_MICRO_KERNEL_INL_H_
