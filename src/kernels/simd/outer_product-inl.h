// The product whose result has the columns of a matrix in its lanes: a few rows of weights, read by
// broadcast, times the rows of a matrix. Gradients of keys and values are sums of these.
#if defined(ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_
#undef ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_
#else
#define ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Accumulators: kColumnVectors vectors of columns against rows_for() rows. Four vectors are a head of 64 in
// AVX-512; with 6 rows they take 24 of 32 registers, as 3 x 8 do.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kColumnVectors = 4;
constexpr int rows_for(int vectors) { return vectors == 4 ? 6 : 8; }
#elif HWY_TARGET == HWY_SCALAR
constexpr int kColumnVectors = 1;
constexpr int rows_for(int) { return 4; }
#else
constexpr int kColumnVectors = 2;
constexpr int rows_for(int) { return 6; }
#endif

// c[r][v] += sum_i a[r * a_row + i] * b[i][v], for kR rows and kV vectors. Rows of b are `width` apart and
// aligned, those of c `c_row` apart and need not be.
template <int kR, int kV>
HWY_ATTR HWY_INLINE void outer_kernel(std::int64_t n, const float* HWY_RESTRICT a, std::int64_t a_row,
                                      const float* HWY_RESTRICT b, float* HWY_RESTRICT c, std::int64_t c_row,
                                      std::int64_t width) {
  const D d;
  const std::int64_t lane = lanes();
  Slot acc[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) acc[r][v] = hn::LoadU(d, c + r * c_row + v * lane);
  }
  // The rows that come next: they were last touched a tile of queries ago.
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) hwy::Prefetch(c + (kR + r) * c_row + v * lane);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    Slot row[kV];
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) row[v] = hn::Load(d, b + i * width + v * lane);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      const V x = hn::Set(d, a[r * a_row + i]);
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) acc[r][v] = hn::MulAdd(x, row[v], acc[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) hn::StoreU(acc[r][v], d, c + r * c_row + v * lane);
  }
}

template <int kR, int kV>
HWY_ATTR void last_outer_rows(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                              const float* b, float* c, std::int64_t c_row, std::int64_t width) {
  if constexpr (kR > 0) {
    if (rows == kR) {
      outer_kernel<kR, kV>(n, a, a_row, b, c, c_row, width);
    } else {
      last_outer_rows<kR - 1, kV>(rows, n, a, a_row, b, c, c_row, width);
    }
  }
}

// kV vectors of columns, all rows.
template <int kV>
HWY_ATTR void outer_columns(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                            const float* b, float* c, std::int64_t c_row, std::int64_t width) {
  constexpr int kR = rows_for(kV);
  std::int64_t r = 0;
  for (; r + kR <= rows; r += kR)
    outer_kernel<kR, kV>(n, a + r * a_row, a_row, b, c + r * c_row, c_row, width);
  last_outer_rows<kR - 1, kV>(rows - r, n, a + r * a_row, a_row, b, c + r * c_row, c_row, width);
}

template <int kV>
HWY_ATTR void outer_columns_of(std::int64_t vectors, std::int64_t rows, std::int64_t n, const float* a,
                               std::int64_t a_row, const float* b, float* c, std::int64_t c_row,
                               std::int64_t width) {
  if constexpr (kV > 0) {
    if (vectors == kV) {
      outer_columns<kV>(rows, n, a, a_row, b, c, c_row, width);
    } else {
      outer_columns_of<kV - 1>(vectors, rows, n, a, a_row, b, c, c_row, width);
    }
  }
}

// c (rows, width) += a (rows, n) b (n, width), where width is whole vectors, cut into pieces of nearly equal
// size.
HWY_ATTR inline void add_outer_product(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                                       const float* b, float* c, std::int64_t c_row, std::int64_t width) {
  const std::int64_t vectors = width / lanes();
  const std::int64_t pieces = (vectors + kColumnVectors - 1) / kColumnVectors;
  std::int64_t done = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t end = vectors * (piece + 1) / pieces;
    outer_columns_of<kColumnVectors>(end - done, rows, n, a, a_row, b + done * lanes(), c + done * lanes(),
                                     c_row, width);
    done = end;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_
