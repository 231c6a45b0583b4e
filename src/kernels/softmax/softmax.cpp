#include "kernels/softmax/softmax.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax/softmax.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// exp(x) for x <= 0, within 1 ulp however large |x|; NaN stays NaN. (The exponential of the attention kernel
// is shorter by four instructions, but its error grows with |x|: exp(-87) is off by 4e-6.)
HWY_ATTR HWY_INLINE V exact_exponential(V x) {
  const D d;
  const DI di;
  const V smallest = hn::Set(d, -87.33654f);  // below it the result is not a normal number: 0
  const V round = hn::Set(d, 0x1.8p23f);      // adding it leaves the nearest whole number in the low bits
  const auto none = hn::Lt(x, smallest);
  const V clamped = hn::IfThenElse(none, smallest, x);
  const V shifted = hn::Add(hn::Mul(clamped, hn::Set(d, 0x1.715476p0f)), round);
  const V power = hn::Sub(shifted, round);
  // log 2 in two parts; the upper has 15 bits, so that its product with a power up to 2^9 is exact.
  V r = hn::NegMulAdd(power, hn::Set(d, 0x1.62e4p-1f), clamped);
  r = hn::NegMulAdd(power, hn::Set(d, 0x1.7f7d1cp-20f), r);  // |r| <= log(2) / 2
  // Taylor coefficients to r^7: what is left out is below 6e-9, a tenth of an ulp.
  V p = hn::Set(d, 1.0f / 5040);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::Add(hn::MulAdd(hn::Mul(p, r), r, r), hn::Set(d, 1.0f));
  // 2^power: the whole number in the low bits moves into the exponent field, the rest is shifted out.
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, 127)));
  return hn::IfThenZeroElse(none, hn::Mul(p, hn::BitCast(d, exponent)));
}

// The largest number of the row. A NaN may be passed over: the sum will not.
HWY_ATTR HWY_INLINE float row_max(const float* x, std::int64_t n) {
  const D d;
  Slot largest[4] = {hn::Set(d, kNone), hn::Set(d, kNone), hn::Set(d, kNone), hn::Set(d, kNone)};
  std::int64_t i = 0;
  for (; i + 4 * lanes() <= n; i += 4 * lanes()) {
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) largest[u] = hn::Max(hn::LoadU(d, x + i + u * lanes()), largest[u]);
  }
  for (; i < n; i += lanes()) largest[0] = hn::Max(load_some(x + i, n - i, kNone), largest[0]);
  const V both = hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3]));
  return hn::GetLane(hn::MaxOfLanes(d, both));
}

// Exponentials to out; their sum. A lane adds up to 32 of them in f32 and hands that to a double: at 4096
// elements and more an f32 sum would itself be off by 1e-6.
HWY_ATTR HWY_INLINE double exponentials(const float* x, std::int64_t n, float shift, float* out) {
  const D d;
  const V base = hn::Set(d, shift);
  const std::int64_t stretch = 32 * lanes();
  HWY_ALIGN float parts[HWY_MAX_BYTES / sizeof(float)];
  double total = 0;
  for (std::int64_t first = 0; first < n; first += stretch) {
    const std::int64_t last = std::min(n, first + stretch);
    V sum = hn::Zero(d);
    for (std::int64_t i = first; i < last; i += lanes()) {
      const V e = exact_exponential(hn::Sub(load_some(x + i, last - i, kNone), base));
      store_some(e, out + i, last - i);
      sum = hn::Add(sum, e);
    }
    hn::Store(sum, d, parts);
    for (std::int64_t l = 0; l < lanes(); ++l) total += static_cast<double>(parts[l]);
  }
  return total;
}

HWY_ATTR SoftmaxSums softmax_elements(const float* x, std::int64_t n, float* out) {
  const D d;
  const float max = row_max(x, n);
  // A row of nothing but -inf (or NaN) is shifted by 0: -inf - -inf would be NaN.
  const double sum = exponentials(x, n, max == kNone ? 0.0f : max, out);
  const V factor = hn::Set(d, sum == 0 ? 0.0f : static_cast<float>(1 / sum));
  for (std::int64_t i = 0; i < n; i += lanes()) {
    store_some(hn::Mul(load_some(out + i, n - i), factor), out + i, n - i);
  }
  return {max, sum};
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(softmax_elements);

}  // namespace

SoftmaxSums softmax_row(const float* x, std::int64_t n, float* out) noexcept {
  return HWY_DYNAMIC_DISPATCH(softmax_elements)(x, n, out);
}

}  // namespace attend::kernels
#endif
