// The product whose result has the columns of a matrix in its lanes: a few rows of weights, read by
// broadcast, times the rows of a matrix. Gradients of keys and values are sums of these.
#if defined(ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_
#undef ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_
#else
#define ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/simd/micro_kernel-inl.h"

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
#elif HWY_TARGET == HWY_AVX2
constexpr int kColumnVectors = 3;
constexpr int rows_for(int vectors) { return 12 / vectors; }
#else
constexpr int kColumnVectors = 2;
constexpr int rows_for(int) { return 6; }
#endif

constexpr int kVectorsOfLine = HWY_LANES(float) < 16 ? 16 / HWY_LANES(float) : 1;

// kV vectors of columns, all rows. Rows of b are `width` apart and aligned, those of c `c_row` apart and need
// not be.
template <int kV>
HWY_ATTR void outer_columns(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                            const float* b, float* c, std::int64_t c_row, std::int64_t width) {
  for_each_block<rows_for(kV)>(rows, [&]<int kR>(std::int64_t r) HWY_ATTR {
    Slot acc[kR][kV];
    load_block(acc, c + r * c_row, c_row);
    // The rows that come next: they were last touched a tile of queries ago.
#pragma GCC unroll 12
    for (int next = kR; next < 2 * kR; ++next) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; v += kVectorsOfLine) hwy::Prefetch(c + (r + next) * c_row + v * lanes());
    }
    accumulate(acc, n, a + r * a_row, a_row, 1, b, width);
    store_block(acc, c + r * c_row, c_row);
  });
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
