// Vectors of floats from what is stored and back: f32 as it is, bf16 and f16 widened in registers, which is
// exact, or rounded.
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

// Whole numbers of 8 bits, whose scale is applied elsewhere.
HWY_ATTR HWY_INLINE V load_stored(const std::int8_t* from) {
  return hn::ConvertTo(D(), hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<std::int8_t, D>(), from)));
}

inline float stored_value(float value) { return value; }
template <class T>
float stored_value(T value) {
  return to_float(value);
}

// The first `count` elements, fewer than lanes(), and zeros; nothing after them is read.
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

HWY_ATTR HWY_INLINE V load_first(const std::int8_t* from, std::int64_t count) {
  HWY_ALIGN float some[HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::int64_t i = 0; i < count; ++i) some[i] = static_cast<float>(from[i]);
  return hn::Load(D(), some);
}

// lanes() elements to `to`, which need not be aligned: rounded to nearest, ties to even, NaN kept.
HWY_ATTR HWY_INLINE void store_bits(hn::Vec<DU> bits, std::uint16_t* to) {
  hn::StoreU(hn::DemoteTo(D16(), hn::BitCast(DI(), bits)), D16(), to);
}

HWY_ATTR HWY_INLINE void store_narrow(V x, float* to) { hn::StoreU(x, D(), to); }

HWY_ATTR HWY_INLINE void store_narrow(V x, bfloat16* to) {
  const DU du;
  const auto bits = hn::BitCast(du, x), upper = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(upper, hn::Set(du, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu))));
  const auto quiet = hn::Or(upper, hn::Set(du, 0x40u));
  const auto number = hn::RebindMask(du, hn::Eq(x, x));
  store_bits(hn::IfThenElse(number, rounded, quiet), &to->bits);
}

HWY_ATTR HWY_INLINE void store_narrow(V x, float16* to) {
  const D d;
  const DU du;
  const auto bits = hn::BitCast(du, x);
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u));
  const V size = hn::Abs(x);
  const auto magnitude = hn::BitCast(du, size);
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
  const auto normal = hn::ShiftRight<13>(
      hn::Sub(hn::Add(magnitude, hn::Add(odd, hn::Set(du, 0xfffu))), hn::Set(du, 0x38000000u)));
  // Below 2^-14, adding 0.5 makes the addition round to a multiple of 2^-24.
  const auto small = hn::Sub(hn::BitCast(du, hn::Add(size, hn::Set(d, 0.5f))), hn::Set(du, 0x3f000000u));
  auto result = hn::IfThenElse(hn::RebindMask(du, hn::Lt(size, hn::Set(d, 0x1p-14f))), small, normal);
  const auto large = hn::RebindMask(du, hn::Ge(size, hn::Set(d, 65520.0f)));
  result = hn::IfThenElse(large, hn::Set(du, 0x7c00u), result);
  result = hn::IfThenElse(hn::RebindMask(du, hn::Eq(x, x)), result, hn::Set(du, 0x7e00u));
  store_bits(hn::Or(result, sign), &to->bits);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_STORAGE_INL_H_
