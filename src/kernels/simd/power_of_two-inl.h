// 2^x as AVX-512 has it in the fewest instructions: one takes the fraction, one applies the whole part.
#if defined(ATTEND_KERNELS_SIMD_POWER_OF_TWO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_POWER_OF_TWO_INL_H_
#undef ATTEND_KERNELS_SIMD_POWER_OF_TWO_INL_H_
#else
#define ATTEND_KERNELS_SIMD_POWER_OF_TWO_INL_H_
#endif

#include "kernels/simd/vectors-inl.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// For any x; 0 for -inf, NaN for NaN. The polynomial's error is 9.3e-8, relative, on [0, 1); its constant
// term is 1, so that 2^0 is exactly 1.
HWY_ATTR HWY_INLINE V power_of_two(V x) {
  const D d;
  constexpr int kFractionAboveFloor = 0x09;
  const V f{_mm512_reduce_ps(x.raw, kFractionAboveFloor)};
  V p = hn::Set(d, 0x1.e97504p-10f);
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.277852p-7f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.c91ce8p-5f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.ebdb56p-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.62e4bap-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  return V{_mm512_scalef_ps(p.raw, x.raw)};
}

// The same for what is rounded to bf16 next: the error is 7.5e-5, where rounding makes one of up to 2e-3.
HWY_ATTR HWY_INLINE V short_power_of_two(V x) {
  const D d;
  constexpr int kFractionAboveFloor = 0x09;
  const V f{_mm512_reduce_ps(x.raw, kFractionAboveFloor)};
  V p = hn::Set(d, 0x1.3f96a4p-4f);
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.cefc4cp-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.64444cp-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.fff632p-1f));
  return V{_mm512_scalef_ps(p.raw, x.raw)};
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();
#endif

#endif  // ATTEND_KERNELS_SIMD_POWER_OF_TWO_INL_H_
