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
// x 3. AVX2's 16 hold 4 x 3, three vectors and one factor: 98 to 99% of the peak where 6 x 2 has 96 to 97%,
// for 4 divides most numbers of keys and columns, and 6 leaves 2. SSE4, which multiplies into a register of
// its own, stays at 6 x 2.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_SVE_256
constexpr int kRows = 8, kVectors = 3;
constexpr bool kManyRegisters = true;
#elif HWY_TARGET == HWY_AVX2
constexpr int kRows = 4, kVectors = 3;
constexpr bool kManyRegisters = false;
#elif HWY_TARGET == HWY_SCALAR
constexpr int kRows = 4, kVectors = 1;
constexpr bool kManyRegisters = false;
#else
constexpr int kRows = 6, kVectors = 2;
constexpr bool kManyRegisters = false;
#endif

// How many rows go with fewer vectors. A multiply-add that takes 4 cycles, two of which start in each, needs
// 8 sums at least: where there are 12 in all, fewer vectors take more rows.
constexpr int rows_beside(int vectors) { return kRows * kVectors != 12 ? kRows : 12 / vectors; }

// acc[r][v] += sum_n a[r * a_row + n * a_step] * b[n][v]: b has rows of `width` floats.
template <int kR, int kV>
HWY_ATTR HWY_INLINE void accumulate(Slot (&acc)[kR][kV], std::int64_t n, const float* HWY_RESTRICT a,
                                    std::int64_t a_row, std::int64_t a_step, const float* HWY_RESTRICT b,
                                    std::int64_t width) {
  const D d;
  const std::int64_t lane = lanes();
  for (std::int64_t i = 0; i < n; ++i) {
    Slot row[kV];
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) row[v] = hn::Load(d, b + i * width + v * lane);
#pragma GCC unroll 12
    for (int r = 0; r < kR; ++r) {
      const V x = hn::Set(d, a[r * a_row + i * a_step]);
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) acc[r][v] = hn::MulAdd(x, row[v], acc[r][v]);
    }
  }
}

template <int kR, int kV>
HWY_ATTR HWY_INLINE void clear_block(Slot (&acc)[kR][kV]) {
#pragma GCC unroll 12
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) acc[r][v] = hn::Zero(D());
  }
}

// Rows of c are `c_row` floats apart; 0 makes every row the same.
template <int kR, int kV>
HWY_ATTR HWY_INLINE void load_block(Slot (&acc)[kR][kV], const float* HWY_RESTRICT c, std::int64_t c_row) {
#pragma GCC unroll 12
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) acc[r][v] = hn::LoadU(D(), c + r * c_row + v * lanes());
  }
}

template <int kR, int kV>
HWY_ATTR HWY_INLINE void store_block(const Slot (&acc)[kR][kV], float* HWY_RESTRICT c, std::int64_t c_row) {
#pragma GCC unroll 12
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) hn::StoreU(acc[r][v], D(), c + r * c_row + v * lanes());
  }
}

// Calls body.template operator()<kR>(r) for blocks of kBlock rows, and once for what is left.
template <int kR, class Body>
HWY_ATTR HWY_INLINE void last_block(std::int64_t rows, std::int64_t r, const Body& body) {
  if constexpr (kR > 0) {
    if (rows - r == kR) {
      body.template operator()<kR>(r);
    } else {
      last_block<kR - 1>(rows, r, body);
    }
  }
}

template <int kBlock = kRows, class Body>
HWY_ATTR HWY_INLINE void for_each_block(std::int64_t rows, const Body& body) {
  std::int64_t r = 0;
  for (; r + kBlock <= rows; r += kBlock) body.template operator()<kBlock>(r);
  last_block<kBlock - 1>(rows, r, body);
}

// c[r][v] (+)= sum_n a[r * a_row + n * a_step] * b[n][v] for any number of rows.
template <int kV, bool kAdd>
HWY_ATTR void product(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                      std::int64_t a_step, const float* b, float* c, std::int64_t width) {
  for_each_block<rows_beside(kV)>(rows, [&]<int kR>(std::int64_t r) HWY_ATTR {
    Slot acc[kR][kV];
    if constexpr (kAdd) {
      load_block(acc, c + r * width, width);
    } else {
      clear_block(acc);
    }
    accumulate(acc, n, a + r * a_row, a_row, a_step, b, width);
    store_block(acc, c + r * width, width);
  });
}

// c[r][v] = start[v] + sum_n a[r * a_row + n] * b[n][v].
template <int kV>
HWY_ATTR void product_from(std::int64_t rows, std::int64_t n, const float* a, std::int64_t a_row,
                           const float* b, const float* start, float* c, std::int64_t width) {
  for_each_block<rows_beside(kV)>(rows, [&]<int kR>(std::int64_t r) HWY_ATTR {
    Slot acc[kR][kV];
    load_block(acc, start, 0);
    accumulate(acc, n, a + r * a_row, a_row, 1, b, width);
    store_block(acc, c + r * width, width);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_MICRO_KERNEL_INL_H_
