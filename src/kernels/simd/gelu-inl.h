// GELU of vectors and its slope, by the normal distribution function and by its approximation with a
// hyperbolic tangent.
#if defined(ATTEND_KERNELS_SIMD_GELU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_GELU_INL_H_
#undef ATTEND_KERNELS_SIMD_GELU_INL_H_
#else
#define ATTEND_KERNELS_SIMD_GELU_INL_H_
#endif

#include "kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Phi(-u) = (1 - erf(u / sqrt 2)) / 2 for u >= 0, NaN for NaN. It is exp(-u^2 / 2 - r(u)), where r grows like
// a logarithm from r(0) = log 2: a polynomial of degree 9 in u, and r(6) beyond 6, where Phi(-u) < 1e-9.
// Fitted by reweighted least squares until the largest error was smallest, on [0, 6], in the error that it
// makes in u Phi(-u): 1e-8 there, and 3e-4 of Phi(-u) itself at 6. Constant term fixed, so that Phi(0) is
// 1/2.
HWY_ATTR HWY_INLINE V normal_tail(V u) {
  const D d;
  // NaN needs no care here: u^2 has it.
  const V near = hn::Min(u, hn::Set(d, 6.0f));
  V r = hn::Set(d, -0x1.750188p-23f);
  r = hn::MulAdd(r, near, hn::Set(d, 0x1.0a3bfap-18f));
  r = hn::MulAdd(r, near, hn::Set(d, -0x1.3071a8p-15f));
  r = hn::MulAdd(r, near, hn::Set(d, 0x1.387fdp-13f));
  r = hn::MulAdd(r, near, hn::Set(d, 0x1.2f31dcp-14f));
  r = hn::MulAdd(r, near, hn::Set(d, -0x1.40164ep-8f));
  r = hn::MulAdd(r, near, hn::Set(d, 0x1.2a12f8p-5f));
  r = hn::MulAdd(r, near, hn::Set(d, -0x1.742004p-3f));
  r = hn::MulAdd(r, near, hn::Set(d, 0x1.98847p-1f));
  r = hn::MulAdd(r, near, hn::Set(d, 0x1.62e43p-1f));
  return exponential(hn::NegMulSub(hn::Mul(u, hn::Set(d, 0.5f)), u, r));
}

// x Phi(x). For x < 0 it takes Phi(x) itself, not 1 - Phi(-x), which would leave nothing of it.
HWY_ATTR HWY_INLINE V gelu_erf(V x) {
  const D d;
  const V tail = normal_tail(hn::Abs(x));
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail)));
}

// x (1 + tanh z) / 2 with z = sqrt(2 / pi) (x + 0.044715 x^3), which is x / (1 + exp(-2 z)).
HWY_ATTR HWY_INLINE V gelu_tanh(V x) {
  const D d;
  const V one = hn::Set(d, 1.0f), size = hn::Abs(x);
  const V cubic = hn::MulAdd(hn::Mul(size, size), hn::Set(d, 0.0713548163f), hn::Set(d, 1.59576912f));
  const V e = exponential(hn::Neg(hn::Mul(size, cubic)));
  const V share = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
  return hn::Mul(x, hn::Div(share, hn::Add(one, e)));
}

// The slope of gelu_erf, Phi(x) + x phi(x), phi being the density. That of x and that of -x add up to 1, so
// the smaller of the two, which keeps its digits, is made for both. NaN comes from the tail; beyond 40, where
// all is 0, the factor of phi stops growing, so that infinity times 0 does not arise.
HWY_ATTR HWY_INLINE V gelu_erf_slope(V x) {
  const D d;
  const V size = hn::Abs(x), bound = hn::Min(size, hn::Set(d, 40.0f));
  const V density =
      hn::Mul(hn::Set(d, 0.398942280f), exponential(hn::Mul(hn::Mul(size, hn::Set(d, -0.5f)), size)));
  const V left = hn::NegMulAdd(bound, density, normal_tail(size));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), left, hn::Sub(hn::Set(d, 1.0f), left));
}

// The slope of gelu_tanh, s + x s (1 - s) (2 z)' with s = 1 / (1 + exp(-2 z)), in the same way.
HWY_ATTR HWY_INLINE V gelu_tanh_slope(V x) {
  const D d;
  const V one = hn::Set(d, 1.0f), size = hn::Abs(x);
  const V cubic = hn::MulAdd(hn::Mul(size, size), hn::Set(d, 0.0713548163f), hn::Set(d, 1.59576912f));
  const V e = exponential(hn::Neg(hn::Mul(size, cubic)));
  const V near = hn::Div(one, hn::Add(one, e)), far = hn::Mul(e, near);  // s and 1 - s, for x > 0
  const V bound = hn::Min(size, hn::Set(d, 40.0f));
  const V growth = hn::MulAdd(hn::Mul(bound, bound), hn::Set(d, 0.214064449f), hn::Set(d, 1.59576912f));
  const V left = hn::NegMulAdd(hn::Mul(bound, growth), hn::Mul(far, near), far);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), left, hn::Sub(one, left));
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_SIMD_GELU_INL_H_
