// 16-bit floating-point formats in vectors: widened exactly, rounded to nearest with ties to even, NaN kept.
#if defined(ATTEND_KERNELS_SIMD_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_HALF_INL_H_
#undef ATTEND_KERNELS_SIMD_HALF_INL_H_
#else
#define ATTEND_KERNELS_SIMD_HALF_INL_H_
#endif

#include <attend/dtype.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

using DU = hn::RebindToUnsigned<D>;
using D16 = hn::Rebind<std::uint16_t, D>;

HWY_ATTR HWY_INLINE V load_wide(const float* from) { return hn::LoadU(D(), from); }

// bf16 is the upper half of an f32.
HWY_ATTR HWY_INLINE V load_wide(const bfloat16* from) {
  const auto bits = hn::PromoteTo(DU(), hn::LoadU(D16(), &from->bits));
  return hn::BitCast(D(), hn::ShiftLeft<16>(bits));
}

// Exponent and mantissa in the places of an f32 are the value times 2^-112, subnormals included; infinity and
// NaN would come out as 2^16 and above, and get the exponent of all ones.
HWY_ATTR HWY_INLINE V load_wide(const float16* from) {
  const D d;
  const DU du;
  const auto bits = hn::PromoteTo(du, hn::LoadU(D16(), &from->bits));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  const auto rest = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fffu)));
  const V size = hn::Mul(hn::BitCast(d, rest), hn::Set(d, 0x1p112f));
  const auto special = hn::BitCast(du, hn::VecFromMask(d, hn::Ge(size, hn::Set(d, 65536.0f))));
  const auto whole = hn::Or(hn::BitCast(du, size), hn::And(special, hn::Set(du, 0x7f800000u)));
  return hn::BitCast(d, hn::Or(whole, sign));
}

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

#endif  // ATTEND_KERNELS_SIMD_HALF_INL_H_
