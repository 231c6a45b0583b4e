#include "kernels/attention/int8_row.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/int8_row.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/partial-inl.h"
#include "kernels/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Below it 127 / largest is no longer finite; such a row counts as zeros.
constexpr float kLeastOfRow = 0x1p-120f;

HWY_ATTR void encode_row(const float* x, std::int64_t n, float* row) {
  const D d;
  const hn::Rebind<std::int8_t, D> di8;
  V largest = hn::Zero(d), infected = hn::Zero(d);  // 0 times what is not finite is NaN
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V v = load_some(x + i, n - i);
    largest = hn::Max(largest, hn::Abs(v));
    infected = hn::Add(infected, hn::Mul(v, hn::Zero(d)));
  }
  const float most = hn::GetLane(hn::MaxOfLanes(d, largest));
  const bool finite = hn::GetLane(hn::SumOfLanes(d, infected)) == 0, counts = finite && most >= kLeastOfRow;
  const V factor = hn::Set(d, counts ? 127 / most : 0.0f);
  auto* const numbers = reinterpret_cast<std::int8_t*>(row + 1);
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V v = counts ? hn::Mul(load_some(x + i, n - i), factor) : hn::Zero(d);
    const auto bytes = hn::DemoteTo(di8, hn::NearestInt(v));
    if (n - i >= lanes()) {
      hn::StoreU(bytes, di8, numbers + i);
    } else {
      HWY_ALIGN std::int8_t last[HWY_MAX_BYTES];
      hn::StoreU(bytes, di8, last);
      for (std::int64_t j = i; j < n; ++j) numbers[j] = last[j - i];
    }
  }
  row[0] = counts ? most / 127 : finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
}

HWY_ATTR void decode_row(const float* row, std::int64_t n, float* to) {
  const D d;
  const auto* const numbers = reinterpret_cast<const std::int8_t*>(row + 1);
  const V scale = hn::Set(d, row[0]);
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const V v = n - i >= lanes() ? load_stored(numbers + i) : load_first(numbers + i, n - i);
    store_some(hn::Mul(v, scale), to + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(encode_row);
HWY_EXPORT(decode_row);

}  // namespace

void encode_int8_row(const float* numbers, std::int64_t n, float* row) noexcept {
  HWY_DYNAMIC_DISPATCH(encode_row)(numbers, n, row);
}
void decode_int8_row(const float* row, std::int64_t n, float* numbers) noexcept {
  HWY_DYNAMIC_DISPATCH(decode_row)(row, n, numbers);
}

}  // namespace attend::kernels
#endif
