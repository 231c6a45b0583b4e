#include "kernels/dropout/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dropout/dropout.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/dropout-inl.h"
#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

HWY_ATTR void drop_elements(const DropoutStream& stream, std::int64_t row, const float* x, std::int64_t n,
                            float factor, float* out) {
  const D d;
  const DU du;
  const DI di;
  const VU row_bits = hn::Set(du, DropoutStream::mix(static_cast<std::uint32_t>(row) ^ stream.row_key()));
  const VU column_key = hn::Set(du, stream.column_key());
  for (std::int64_t i = 0; i < n; i += lanes()) {
    const VU column = hn::Iota(du, static_cast<std::uint32_t>(i));
    const VU column_bits = DropoutLanes::mix(hn::Xor(column, column_key));
    const VU bits = DropoutLanes::mix(hn::Xor(row_bits, column_bits));
    const auto drops = hn::RebindMask(d, hn::Lt(hn::BitCast(di, bits), hn::Set(di, stream.threshold())));
    const V kept = hn::Mul(load_some(x + i, n - i), hn::Set(d, factor));
    store_some(hn::IfThenZeroElse(drops, kept), out + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(drop_elements);

}  // namespace

void dropout_row(const DropoutStream& stream, std::int64_t row, const float* x, std::int64_t n, float factor,
                 float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(drop_elements)(stream, row, x, n, factor, out);
}

void dropout_row(const DropoutStream& stream, std::int64_t row, const double* x, std::int64_t n,
                 double factor, double* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) out[i] = stream.keeps(row, i) ? x[i] * factor : 0;
}

}  // namespace attend::kernels
#endif
