// A few rows of a matrix written as columns, and back: how queries get into lanes and results out of them.
#if defined(ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_
#undef ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_
#else
#define ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_
#endif

#include <cstring>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr std::int64_t kTogether =
    4;  // rows that move together: 16 bytes of each column, one load and one store

// columns[c * width + i] = factor * rows[i * stride + c], for `count` rows and n columns.
HWY_ATTR inline void rows_to_columns(const float* rows, std::int64_t stride, std::int64_t count,
                                     std::int64_t n, float factor, float* columns, std::int64_t width) {
  const D d;
  HWY_ALIGN float mixed[kTogether * HWY_MAX_BYTES / sizeof(float)];
  const V f = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    const float* const from = rows + i * stride;
    std::int64_t c = 0;
    for (; c + lanes() <= n; c += lanes()) {
      const auto row = [&](std::int64_t r)
                           HWY_ATTR { return hn::Mul(f, hn::LoadU(d, from + r * stride + c)); };
      hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, mixed);
      for (std::int64_t l = 0; l < lanes(); ++l) {
        std::memcpy(columns + (c + l) * width + i, mixed + l * kTogether, kTogether * sizeof(float));
      }
    }
    for (; c < n; ++c) {
      for (std::int64_t r = 0; r < kTogether; ++r) columns[c * width + i + r] = factor * from[r * stride + c];
    }
  }
  for (; i < count; ++i) {
    for (std::int64_t c = 0; c < n; ++c) columns[c * width + i] = factor * rows[i * stride + c];
  }
}

// rows[i * stride + c] = columns[c * width + i].
HWY_ATTR inline void columns_to_rows(const float* columns, std::int64_t width, std::int64_t count,
                                     std::int64_t n, float* rows, std::int64_t stride) {
  const D d;
  HWY_ALIGN float mixed[kTogether * HWY_MAX_BYTES / sizeof(float)];
  std::int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    float* const to = rows + i * stride;
    std::int64_t c = 0;
    for (; c + lanes() <= n; c += lanes()) {
      for (std::int64_t l = 0; l < lanes(); ++l) {
        std::memcpy(mixed + l * kTogether, columns + (c + l) * width + i, kTogether * sizeof(float));
      }
      V row[kTogether];
      hn::LoadInterleaved4(d, mixed, row[0], row[1], row[2], row[3]);
      for (std::int64_t r = 0; r < kTogether; ++r) hn::StoreU(row[r], d, to + r * stride + c);
    }
    for (; c < n; ++c) {
      for (std::int64_t r = 0; r < kTogether; ++r) to[r * stride + c] = columns[c * width + i + r];
    }
  }
  for (; i < count; ++i) {
    for (std::int64_t c = 0; c < n; ++c) rows[i * stride + c] = columns[c * width + i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_TRANSPOSE_INL_H_
