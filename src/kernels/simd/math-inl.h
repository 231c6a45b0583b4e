// Exponential, hyperbolic tangent and sigmoid of vectors.
#if defined(ATTEND_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_MATH_INL_H_
#undef ATTEND_KERNELS_SIMD_MATH_INL_H_
#else
#define ATTEND_KERNELS_SIMD_MATH_INL_H_
#endif

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// y, but not below `low`; NaN stays NaN. x86's maximum returns its second argument when either is NaN; ARM's,
// as Highway takes it, the one that is a number, and plain C++ leaves it open.
HWY_ATTR HWY_INLINE V at_least(V low, V y) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(low, y);
#else
  return hn::IfThenElse(hn::Lt(y, low), low, y);
#endif
}

// exp(x) of kN vectors, for x <= 88, NaN for NaN, 0 below -87.7. 2^(x log2 e): the whole part becomes the
// exponent, where -127 is the bits of 0; the fraction goes through a polynomial whose error is 9.2e-8 (fitted
// to the relative error on [-1/2, 1/2], with constant term 1, so that exp(0) is exactly 1).
//
// Step by step for all of them: two or four at once take 5.3 cycles each on Zen 4 with AVX2, one after the
// other 5.6.
template <int kN>
HWY_ATTR HWY_INLINE void exponentials(Slot (&x)[kN]) {
  const D d;
  const DI di;
  const V log2e = hn::Set(d, 1.44269504f);
  // 1.5 * 2^23: adding it rounds to a whole number, which stands in the low bits. Where additions and FMAs
  // share pipes, as on Intel's processors, the exponent's bias of 127 is part of it, which saves an addition.
  constexpr bool kBiased = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;
  const V magic = hn::Set(d, kBiased ? 12582912.0f + 127.0f : 12582912.0f);
  Slot shifted[kN], f[kN], p[kN];
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) x[i] = at_least(hn::Set(d, -88.029694f), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) shifted[i] = hn::MulAdd(x[i], log2e, magic);
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) {  // one rounding: the error does not grow with |x|
    f[i] = hn::MulSub(x[i], log2e, hn::Sub(shifted[i], magic));
  }
  constexpr float kPolynomial[] = {0x1.3cea88p-7f, 0x1.c6b752p-5f, 0x1.ebf9bcp-3f, 0x1.62e42ap-1f, 1.0f};
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) p[i] = hn::Set(d, 0x1.5bba14p-10f);
#pragma GCC unroll 5
  for (int k = 0; k < 5; ++k) {
#pragma GCC unroll 4
    for (int i = 0; i < kN; ++i) p[i] = hn::MulAdd(p[i], f[i], hn::Set(d, kPolynomial[k]));
  }
#pragma GCC unroll 4
  for (int i = 0; i < kN; ++i) {
    const V whole = shifted[i];
    const auto exponent = hn::BitCast(di, whole);
    const auto biased = kBiased ? exponent : hn::Add(exponent, hn::Set(di, 127));
    x[i] = hn::Mul(p[i], hn::BitCast(d, hn::ShiftLeft<23>(biased)));
  }
}

HWY_ATTR HWY_INLINE V exponential(V x) {
  Slot one[1] = {x};
  exponentials(one);
  return one[0];
}

// tanh(x): an odd polynomial near 0 (relative error 4.4e-9 up to 0.625), and (1 - e) / (1 + e) with e =
// exp(-2 |x|) beyond.
HWY_ATTR HWY_INLINE V hyperbolic_tangent(V x) {
  const D d;
  const V size = hn::Abs(x), one = hn::Set(d, 1.0f);
  const V e = exponential(hn::Mul(size, hn::Set(d, -2.0f)));
  const V far = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, -0x1.75e0e8p-8f);
  p = hn::MulAdd(p, z, hn::Set(d, 0x1.52266ap-6f));
  p = hn::MulAdd(p, z, hn::Set(d, -0x1.b83c52p-5f));
  p = hn::MulAdd(p, z, hn::Set(d, 0x1.110726p-3f));
  p = hn::MulAdd(p, z, hn::Set(d, -0x1.555532p-2f));
  const V near = hn::MulAdd(hn::Mul(p, z), x, x);
  return hn::IfThenElse(hn::Gt(size, hn::Set(d, 0.625f)), far, near);
}

// sigmoid(x) and 1 - sigmoid(x), each with all its digits: the exponential is taken of -|x|.
struct Sigmoid {
  Slot share, rest;
};

HWY_ATTR HWY_INLINE Sigmoid sigmoid(V x) {
  const D d;
  const V one = hn::Set(d, 1.0f), e = exponential(hn::Neg(hn::Abs(x)));
  const V near = hn::Div(one, hn::Add(one, e)), far = hn::Mul(e, near);
  const auto negative = hn::Lt(x, hn::Zero(d));
  return {hn::IfThenElse(negative, far, near), hn::IfThenElse(negative, near, far)};
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_MATH_INL_H_
