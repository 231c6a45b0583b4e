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

// The rows of c that come after kR: they were last touched a tile of queries ago.
template <int kR, int kV>
HWY_ATTR HWY_INLINE void prefetch_next_rows(const float* c, std::int64_t c_row) {
#pragma GCC unroll 12
  for (int next = kR; next < 2 * kR; ++next) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; v += kVectorsOfLine) hwy::Prefetch(c + next * c_row + v * lanes());
  }
}

template <int kV, class Body>
HWY_ATTR HWY_INLINE void for_outer_columns(std::int64_t vectors, std::int64_t rows, std::int64_t column,
                                           const Body& body) {
  if constexpr (kV > 0) {
    if (vectors == kV) {
      for_each_block<rows_for(kV)>(
          rows, [&]<int kR>(std::int64_t r) HWY_ATTR { body.template operator()<kR, kV>(r, column); });
    } else {
      for_outer_columns<kV - 1>(vectors, rows, column, body);
    }
  }
}

// body.template operator()<kR, kV>(row, column) for blocks of kR rows and kV vectors of columns, where
// `width` is whole vectors, cut into pieces of nearly equal size.
template <class Body>
HWY_ATTR HWY_INLINE void for_each_outer_block(std::int64_t rows, std::int64_t width, const Body& body) {
  const std::int64_t vectors = width / lanes();
  const std::int64_t pieces = (vectors + kColumnVectors - 1) / kColumnVectors;
  std::int64_t done = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t end = vectors * (piece + 1) / pieces;
    for_outer_columns<kColumnVectors>(end - done, rows, done * lanes(), body);
    done = end;
  }
}

// c (rows, width) += a (rows, n) b (n, width). Rows of b are `width` apart and aligned, those of c `c_row`
// apart and need not be.
HWY_ATTR inline void add_outer_product(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                                       const float* b, float* c, std::int64_t c_row, std::int64_t width) {
  for_each_outer_block(rows, width, [&]<int kR, int kV>(std::int64_t r, std::int64_t column) HWY_ATTR {
    float* const to = c + r * c_row + column;
    Slot acc[kR][kV];
    load_block(acc, to, c_row);
    prefetch_next_rows<kR, kV>(to, c_row);
    accumulate(acc, n, a + r * a_row, a_row, 1, b + column, width);
    store_block(acc, to, c_row);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_OUTER_PRODUCT_INL_H_
