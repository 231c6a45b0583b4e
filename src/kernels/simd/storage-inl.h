// Vectors of floats from what is stored: f32 as it is, bf16 and f16 widened in registers, which is exact.
#if defined(ATTEND_KERNELS_SIMD_STORAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_STORAGE_INL_H_
#undef ATTEND_KERNELS_SIMD_STORAGE_INL_H_
#else
#define ATTEND_KERNELS_SIMD_STORAGE_INL_H_
#endif

#include <attend/dtype.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

using D16 = hn::Rebind<std::uint16_t, D>;
using DU = hn::RebindToUnsigned<D>;

HWY_ATTR HWY_INLINE V widened(bfloat16, hn::Vec<D16> bits) {
  return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), bits)));
}

HWY_ATTR HWY_INLINE V widened(float16, hn::Vec<D16> bits) {
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
  return hn::PromoteTo(D(), hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
#else
  // Exponent and mantissa moved into place and multiplied with 2^(127 - 15), which also makes normal numbers
  // of subnormal ones. Infinity and NaN have all bits of the exponent set before and after.
  const DU du;
  const D d;
  const auto wide = hn::PromoteTo(du, bits);
  const auto size = hn::ShiftLeft<13>(hn::And(wide, hn::Set(du, 0x7fffu)));
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(du, 0x8000u)));
  const auto scaled = hn::BitCast(du, hn::Mul(hn::BitCast(d, size), hn::Set(d, 0x1p112f)));
  const auto special = hn::VecFromMask(du, hn::Gt(size, hn::Set(du, 0x0f7fffffu)));
  return hn::BitCast(d, hn::Or(hn::Or(scaled, sign), hn::And(special, hn::Set(du, 0x7f800000u))));
#endif
}

// lanes() elements from `from`, which need not be aligned.
HWY_ATTR HWY_INLINE V load_stored(const float* from) { return hn::LoadU(D(), from); }
template <class T>
HWY_ATTR HWY_INLINE V load_stored(const T* from) {
  return widened(T(), hn::LoadU(D16(), reinterpret_cast<const std::uint16_t*>(from)));
}

inline float stored_value(float value) { return value; }
template <class T>
float stored_value(T value) {
  return to_float(value);
}

// The first `count` elements, fewer than lanes(), and zeros; nothing behind them is read.
template <class T>
HWY_ATTR HWY_INLINE V load_first(const T* from, std::int64_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float some[HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::int64_t i = 0; i < count; ++i) some[i] = stored_value(from[i]);
  return hn::Load(D(), some);
#else
  const auto n = static_cast<std::size_t>(count);
  if constexpr (sizeof(T) == sizeof(float)) {
    return hn::MaskedLoad(hn::FirstN(D(), n), D(), from);
  } else {
    const D16 d16;
    return widened(T(),
                   hn::MaskedLoad(hn::FirstN(d16, n), d16, reinterpret_cast<const std::uint16_t*>(from)));
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_STORAGE_INL_H_
