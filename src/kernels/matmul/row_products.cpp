#include "kernels/matmul/row_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/row_products.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Four sums side by side hide the time that an addition takes.
template <class T>
HWY_ATTR HWY_INLINE float row_product(const float* x, const T* row, std::int64_t depth) {
  const D d;
  const std::int64_t n = lanes();
  V sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::int64_t i = 0;
  for (; i + 4 * n <= depth; i += 4 * n) {
    sum0 = hn::MulAdd(load_stored(x + i), load_stored(row + i), sum0);
    sum1 = hn::MulAdd(load_stored(x + i + n), load_stored(row + i + n), sum1);
    sum2 = hn::MulAdd(load_stored(x + i + 2 * n), load_stored(row + i + 2 * n), sum2);
    sum3 = hn::MulAdd(load_stored(x + i + 3 * n), load_stored(row + i + 3 * n), sum3);
  }
  for (; i + n <= depth; i += n) sum0 = hn::MulAdd(load_stored(x + i), load_stored(row + i), sum0);
  if (i < depth) sum1 = hn::MulAdd(load_first(x + i, depth - i), load_first(row + i, depth - i), sum1);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
}

template <class T>
HWY_ATTR HWY_INLINE void every_row_product(const float* x, std::int64_t depth, const T* table,
                                           std::int64_t stride, std::int64_t rows, float* out) {
  for (std::int64_t i = 0; i < rows; ++i) out[i] = row_product(x, table + i * stride, depth);
}

HWY_ATTR void row_products_f32(const float* x, std::int64_t depth, const float* table, std::int64_t stride,
                               std::int64_t rows, float* out) {
  every_row_product(x, depth, table, stride, rows, out);
}
HWY_ATTR void row_products_bf16(const float* x, std::int64_t depth, const bfloat16* table,
                                std::int64_t stride, std::int64_t rows, float* out) {
  every_row_product(x, depth, table, stride, rows, out);
}
HWY_ATTR void row_products_f16(const float* x, std::int64_t depth, const float16* table, std::int64_t stride,
                               std::int64_t rows, float* out) {
  every_row_product(x, depth, table, stride, rows, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(row_products_f32);
HWY_EXPORT(row_products_bf16);
HWY_EXPORT(row_products_f16);

}  // namespace

void row_products(const float* x, std::int64_t depth, const float* table, std::int64_t stride,
                  std::int64_t rows, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(row_products_f32)(x, depth, table, stride, rows, out);
}
void row_products(const float* x, std::int64_t depth, const bfloat16* table, std::int64_t stride,
                  std::int64_t rows, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(row_products_bf16)(x, depth, table, stride, rows, out);
}
void row_products(const float* x, std::int64_t depth, const float16* table, std::int64_t stride,
                  std::int64_t rows, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(row_products_f16)(x, depth, table, stride, rows, out);
}

}  // namespace attend::kernels
#endif
