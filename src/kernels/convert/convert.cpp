#include "kernels/convert/convert.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/convert.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <class From, class To>
HWY_ATTR void convert(const From* from, std::int64_t n, To* to) {
  std::int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) store_narrow(load_stored(from + i), to + i);
  if (i == n) return;
  From rest_from[HWY_LANES(float)] = {};
  To rest_to[HWY_LANES(float)];
  std::copy(from + i, from + n, rest_from);
  store_narrow(load_stored(rest_from), rest_to);
  std::copy_n(rest_to, n - i, to + i);
}

HWY_ATTR void widen_bfloat16(const bfloat16* from, std::int64_t n, float* to) { convert(from, n, to); }
HWY_ATTR void widen_float16(const float16* from, std::int64_t n, float* to) { convert(from, n, to); }
HWY_ATTR void narrow_bfloat16(const float* from, std::int64_t n, bfloat16* to) { convert(from, n, to); }
HWY_ATTR void narrow_float16(const float* from, std::int64_t n, float16* to) { convert(from, n, to); }
HWY_ATTR void narrow_bfloat16_rows(const float* from, std::int64_t from_row, std::int64_t rows,
                                   std::int64_t n, bfloat16* to, std::int64_t to_row) {
  for (std::int64_t r = 0; r < rows; ++r) {
    convert(from + r * from_row, n, to + r * to_row);
    std::fill(to + r * to_row + n, to + (r + 1) * to_row, bfloat16{});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(widen_bfloat16);
HWY_EXPORT(widen_float16);
HWY_EXPORT(narrow_bfloat16);
HWY_EXPORT(narrow_float16);
HWY_EXPORT(narrow_bfloat16_rows);

}  // namespace

void widen_row(const bfloat16* from, std::int64_t n, float* to) noexcept {
  HWY_DYNAMIC_DISPATCH(widen_bfloat16)(from, n, to);
}

void widen_row(const float16* from, std::int64_t n, float* to) noexcept {
  HWY_DYNAMIC_DISPATCH(widen_float16)(from, n, to);
}

void narrow_row(const float* from, std::int64_t n, bfloat16* to) noexcept {
  HWY_DYNAMIC_DISPATCH(narrow_bfloat16)(from, n, to);
}

void narrow_row(const float* from, std::int64_t n, float16* to) noexcept {
  HWY_DYNAMIC_DISPATCH(narrow_float16)(from, n, to);
}

void narrow_rows(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t n, bfloat16* to,
                 std::int64_t to_row) noexcept {
  HWY_DYNAMIC_DISPATCH(narrow_bfloat16_rows)(from, from_row, rows, n, to, to_row);
}

}  // namespace attend::kernels
#endif
