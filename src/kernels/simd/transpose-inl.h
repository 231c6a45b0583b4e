// A few rows of a matrix written as columns, and back: how queries get into lanes and results out of them.
#if defined(ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_
#undef ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_
#else
#define ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_
#endif

#include <algorithm>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr int kLanes = HWY_LANES(float);

// Vector r, lane c becomes vector c, lane r. First 4 x 4 elements inside the 128-bit blocks of each four
// vectors, then the blocks among themselves.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose_block(Slot (&)[1]) {}
#else
template <int kL>
HWY_ATTR HWY_INLINE void transpose_block(Slot (&x)[kL]) {
  const D d;
  const hn::RepartitionToWide<D> wide;
  Slot u[kL];
#pragma GCC unroll 4
  for (int g = 0; g < kL; g += 4) {
    const V x0 = x[g], x1 = x[g + 1], x2 = x[g + 2], x3 = x[g + 3];
    const auto low_01 = hn::BitCast(wide, hn::InterleaveLower(d, x0, x1));
    const auto high_01 = hn::BitCast(wide, hn::InterleaveUpper(d, x0, x1));
    const auto low_23 = hn::BitCast(wide, hn::InterleaveLower(d, x2, x3));
    const auto high_23 = hn::BitCast(wide, hn::InterleaveUpper(d, x2, x3));
    u[g] = hn::BitCast(d, hn::InterleaveLower(wide, low_01, low_23));
    u[g + 1] = hn::BitCast(d, hn::InterleaveUpper(wide, low_01, low_23));
    u[g + 2] = hn::BitCast(d, hn::InterleaveLower(wide, high_01, high_23));
    u[g + 3] = hn::BitCast(d, hn::InterleaveUpper(wide, high_01, high_23));
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    if constexpr (kL == 4) {
      x[c] = u[c];
    } else if constexpr (kL == 8) {
      const V upper = u[4 + c], lower = u[c];
      x[c] = hn::ConcatLowerLower(d, upper, lower);
      x[4 + c] = hn::ConcatUpperUpper(d, upper, lower);
    } else {
      static_assert(kL == 16);
      const V even_01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(u[4 + c]), u[c]);
      const V odd_01 = hn::OddEvenBlocks(u[4 + c], hn::SwapAdjacentBlocks(u[c]));
      const V even_23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(u[12 + c]), u[8 + c]);
      const V odd_23 = hn::OddEvenBlocks(u[12 + c], hn::SwapAdjacentBlocks(u[8 + c]));
      x[c] = hn::ConcatLowerLower(d, even_23, even_01);
      x[4 + c] = hn::ConcatLowerLower(d, odd_23, odd_01);
      x[8 + c] = hn::ConcatUpperUpper(d, even_23, even_01);
      x[12 + c] = hn::ConcatUpperUpper(d, odd_23, odd_01);
    }
  }
}
#endif

// columns[c * width + i] = factor * rows[i * stride + c], for `count` rows and n columns; 0 for the rows that
// are missing to fill the last vector.
HWY_ATTR inline void rows_to_columns(const float* rows, std::int64_t stride, std::int64_t count,
                                     std::int64_t n, float factor, float* columns, std::int64_t width) {
  const D d;
  const V f = hn::Set(d, factor);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t there = std::min<std::int64_t>(kLanes, count - i);
    for (std::int64_t c = 0; c < n; c += kLanes) {
      const std::int64_t size = std::min<std::int64_t>(kLanes, n - c);
      Slot x[kLanes];
      if (there == kLanes && size == kLanes) {
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) x[r] = hn::LoadU(d, rows + (i + r) * stride + c);
      } else {
        HWY_ALIGN float padded[kLanes * kLanes] = {};
        for (std::int64_t r = 0; r < there; ++r)
          std::copy_n(rows + (i + r) * stride + c, size, padded + r * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) x[r] = hn::Load(d, padded + r * kLanes);
      }
      transpose_block(x);
      float* const to = columns + c * width + i;
      if (size == kLanes) {
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) hn::Store(hn::Mul(f, x[r]), d, to + r * width);
      } else {
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) {
          if (r < size) hn::Store(hn::Mul(f, x[r]), d, to + r * width);
        }
      }
    }
  }
}

// What columns_to_rows and add_columns_to_rows share.
template <bool kAdd>
HWY_ATTR inline void turn_columns(const float* columns, std::int64_t width, std::int64_t count,
                                  std::int64_t n, float* rows, std::int64_t stride, const float* factors) {
  const D d;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t there = std::min<std::int64_t>(kLanes, count - i);
    const V f = factors == nullptr ? hn::Set(d, 1.0f) : hn::Load(d, factors + i);
    for (std::int64_t c = 0; c < n; c += kLanes) {
      const std::int64_t size = std::min<std::int64_t>(kLanes, n - c);
      const float* const from = columns + c * width + i;
      Slot x[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        x[r] = r < size ? hn::Mul(f, hn::Load(d, from + r * width)) : hn::Zero(d);
      }
      transpose_block(x);
      float* const to = rows + i * stride + c;
      if (there == kLanes && size == kLanes) {
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) {
          const V whole = kAdd ? hn::Add(x[r], hn::LoadU(d, to + r * stride)) : V(x[r]);
          hn::StoreU(whole, d, to + r * stride);
        }
      } else {
        HWY_ALIGN float padded[kLanes * kLanes];
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) hn::Store(x[r], d, padded + r * kLanes);
        for (std::int64_t r = 0; r < there; ++r) {
          for (std::int64_t e = 0; e < size; ++e) {
            float& target = to[r * stride + e];
            target = kAdd ? target + padded[r * kLanes + e] : padded[r * kLanes + e];
          }
        }
      }
    }
  }
}

// rows[i * stride + c] = factors[i] * columns[c * width + i]; without factors, 1.
HWY_ATTR inline void columns_to_rows(const float* columns, std::int64_t width, std::int64_t count,
                                     std::int64_t n, float* rows, std::int64_t stride,
                                     const float* factors = nullptr) {
  turn_columns<false>(columns, width, count, n, rows, stride, factors);
}

// rows[i * stride + c] += columns[c * width + i].
HWY_ATTR inline void add_columns_to_rows(const float* columns, std::int64_t width, std::int64_t count,
                                         std::int64_t n, float* rows, std::int64_t stride) {
  turn_columns<true>(columns, width, count, n, rows, stride, nullptr);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_
