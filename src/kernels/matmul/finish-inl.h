// The end of a product: bias, activation and residual, while the sums of a tile are in the first-level cache.
#if defined(ATTEND_KERNELS_MATMUL_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_MATMUL_FINISH_INL_H_
#undef ATTEND_KERNELS_MATMUL_FINISH_INL_H_
#else
#define ATTEND_KERNELS_MATMUL_FINISH_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/matmul/finish.h"
#include "kernels/matmul/matmul.h"
#include "kernels/simd/gelu-inl.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/partial-inl.h"
#include "kernels/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <Activation kActivation>
HWY_ATTR HWY_INLINE V activated(V x) {
  if constexpr (kActivation == Activation::gelu) return gelu_erf(x);
  if constexpr (kActivation == Activation::gelu_tanh) return gelu_tanh(x);
  // Not Max, which loses NaN on some instruction sets.
  if constexpr (kActivation == Activation::relu) return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(D())), x);
  if constexpr (kActivation == Activation::silu) return hn::Mul(x, sigmoid(x).share);
  return x;
}

// The sums of one tile, at `sums`, to their place in out.
template <Activation kActivation>
HWY_ATTR void finish_as(const MatmulFinish& end, std::int64_t first, std::int64_t rows, std::int64_t column,
                        std::int64_t columns, const float* sums, std::int64_t width) {
  const D d;
  for (std::int64_t j = 0; j < columns; j += lanes()) {
    const std::int64_t count = columns - j;
    const V bias = end.bias != nullptr ? load_some(end.bias + column + j, count) : hn::Zero(d);
    for (std::int64_t r = 0; r < rows; ++r) {
      V x = activated<kActivation>(hn::Add(hn::Load(d, sums + r * width + j), bias));
      if (end.residual != nullptr) {
        x = hn::Add(x, load_some(end.residual + (first + r) * end.residual_row + column + j, count));
      }
      store_some(x, end.out + (first + r) * end.out_row + column + j, count);
    }
  }
}

HWY_ATTR inline void finish_floats(const MatmulFinish& end, std::int64_t first, std::int64_t rows,
                                   std::int64_t column, std::int64_t columns, const float* sums,
                                   std::int64_t width) {
  switch (end.activation) {
    case Activation::none:
      return finish_as<Activation::none>(end, first, rows, column, columns, sums, width);
    case Activation::gelu:
      return finish_as<Activation::gelu>(end, first, rows, column, columns, sums, width);
    case Activation::gelu_tanh:
      return finish_as<Activation::gelu_tanh>(end, first, rows, column, columns, sums, width);
    case Activation::relu:
      return finish_as<Activation::relu>(end, first, rows, column, columns, sums, width);
    case Activation::silu:
      return finish_as<Activation::silu>(end, first, rows, column, columns, sums, width);
  }
}

// The same in place: sums become what is to be rounded.
HWY_ATTR inline void finish_in_place(const MatmulFinish& end, std::int64_t first, std::int64_t rows,
                                     std::int64_t column, std::int64_t columns, float* sums,
                                     std::int64_t width) {
  MatmulFinish here = end;
  if (here.bias != nullptr) here.bias += column;
  if (here.residual != nullptr) here.residual += first * end.residual_row + column;
  here.out = sums;
  here.out_row = width;
  finish_floats(here, 0, rows, 0, columns, sums, width);
}

// Sums of whole vectors, which may be overwritten.
HWY_ATTR inline void finish(const MatmulFinish& end, std::int64_t first, std::int64_t rows,
                            std::int64_t column, std::int64_t columns, float* sums, std::int64_t width) {
  if (end.out_bf16 == nullptr) return finish_floats(end, first, rows, column, columns, sums, width);
  finish_in_place(end, first, rows, column, columns, sums, width);
  const D d;
  HWY_ALIGN bfloat16 last[HWY_MAX_BYTES / sizeof(float)];
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const from = sums + r * width;
    bfloat16* const to = end.out_bf16 + (first + r) * end.out_row + column;
    std::int64_t j = 0;
    for (; j + lanes() <= columns; j += lanes()) store_narrow(hn::Load(d, from + j), to + j);
    if (j == columns) continue;
    store_narrow(hn::Load(d, from + j), last);
    std::copy_n(last, columns - j, to + j);
  }
}

// Brings what finish() reads and writes into the cache while the sums are made: at k = 384 two percent.
HWY_ATTR HWY_INLINE void prefetch(const MatmulFinish& end, std::int64_t first, std::int64_t rows,
                                  std::int64_t column, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < columns; j += kPanelColumns) {
      const std::int64_t at = (first + r) * end.out_row + column + j;
      if (end.out_bf16 == nullptr) {
        hwy::Prefetch(end.out + at);
      } else if (j % (2 * kPanelColumns) == 0) {
        hwy::Prefetch(end.out_bf16 + at);
      }
      if (end.residual != nullptr) {
        hwy::Prefetch(end.residual + (first + r) * end.residual_row + column + j);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_MATMUL_FINISH_INL_H_
