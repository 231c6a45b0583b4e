// The maximum and the sum of exponentials of each row of a tile, followed while keys go by.
//
// Exponentials are taken relative to a base that follows the maximum only when the maximum exceeds it by more
// than kSlack: rescaling everything that was made so far is then rare, and nothing can overflow. A row's base
// depends on its own scores alone.
#if defined(ATTEND_KERNELS_ATTENTION_RUNNING_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_RUNNING_SUMS_INL_H_
#undef ATTEND_KERNELS_ATTENTION_RUNNING_SUMS_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_RUNNING_SUMS_INL_H_
#endif

#include "kernels/attention/head.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// exp(5) = 148 is far from overflow, and a score so far from its base is still exponentiated to 1e-7.
constexpr float kSlack = 5;

template <int kV>
struct RunningSums {
  Slot max[kV];                          // of the scores so far
  Slot base[kV], sum[kV], tile_sum[kV];  // what exponentials are relative to, and their sums

  // The implicit one belongs to no instruction set, and gcc refuses to put NEON's registers into it.
  HWY_ATTR HWY_INLINE RunningSums() {}

  HWY_ATTR HWY_INLINE void begin(float sink) {
    const D d;
    for (int v = 0; v < kV; ++v) {
      max[v] = base[v] = hn::Set(d, sink);
      sum[v] = sink == kMinusInfinity<float> ? hn::Zero(d) : hn::Set(d, 1.0f);
    }
  }
  HWY_ATTR HWY_INLINE void begin_tile() {
    for (int v = 0; v < kV; ++v) tile_sum[v] = hn::Zero(D());
  }
  HWY_ATTR HWY_INLINE void end_tile() {
    for (int v = 0; v < kV; ++v) sum[v] = hn::Add(sum[v], tile_sum[v]);
  }

  // A lane that has seen no key yet has base -inf and takes 0 for it, so that -inf - -inf never arises.
  static HWY_ATTR HWY_INLINE V shift(V x) {
    return hn::IfThenZeroElse(hn::Eq(x, hn::Set(D(), kMinusInfinity<float>)), x);
  }

  static HWY_ATTR HWY_INLINE auto is_ahead(V largest, V base) {
    return hn::Gt(largest, hn::Add(base, hn::Set(D(), kSlack)));
  }

  // The maximum takes note of a block of scores, and `largest` of the block's own. Whether some lane ran
  // ahead of its base.
  template <int kR>
  HWY_ATTR HWY_INLINE bool outgrown(const Slot (&score)[kR][kV], Slot (&largest)[kV]) {
    bool any = false;
#pragma GCC unroll 3
    for (int v = 0; v < kV; ++v) {
      V most = score[0][v];
#pragma GCC unroll 8
      for (int r = 1; r < kR; ++r) most = hn::Max(most, score[r][v]);
      any |= outgrown_by(v, most);
      largest[v] = most;
    }
    return any;
  }
  // The same for the largest scores of some keys.
  HWY_ATTR HWY_INLINE bool outgrown_by(int v, V largest) {
    max[v] = hn::Max(max[v], largest);
    return !hn::AllFalse(D(), is_ahead(largest, base[v]));
  }

  // Lanes whose maximum ran ahead take it as their base. Returns what everything made so far is to be
  // multiplied with: exactly 1 in the other lanes.
  HWY_ATTR HWY_INLINE V raise(int v, V largest) {
    const D d;
    const auto ahead = is_ahead(largest, base[v]);
    const V now = hn::IfThenElse(ahead, largest, base[v]);
    const V factor = exponential(hn::Sub(base[v], shift(now)));
    const V change = hn::IfThenElse(ahead, factor, hn::Set(d, 1.0f));
    sum[v] = hn::Mul(sum[v], change);
    tile_sum[v] = hn::Mul(tile_sum[v], change);
    base[v] = now;
    return change;
  }

  template <int kR>
  HWY_ATTR HWY_INLINE void add(int v, Slot (&x)[kR]) {
    tile_sum[v] = hn::Add(tile_sum[v], sum_of(x));
  }
  // The sum of rows of x, whose places take those of parts of it: a tree with fixed places, where rows that a
  // shorter block lacks would have added 0.
  template <int kR>
  static HWY_ATTR HWY_INLINE V sum_of(Slot (&x)[kR]) {
#pragma GCC unroll 3
    for (int half = 4; half > 0; half /= 2) {
#pragma GCC unroll 4
      for (int r = 0; r < half; ++r) {
        if (r + half < kR) x[r] = hn::Add(x[r], x[r + half]);
      }
    }
    return x[0];
  }

  // kept / divisor, and 0 for a row without keys.
  static HWY_ATTR HWY_INLINE V inverse(float kept, V divisor) {
    const D d;
    return hn::IfThenZeroElse(hn::Eq(divisor, hn::Zero(d)), hn::Div(hn::Set(d, kept), divisor));
  }

  // The state is that of the row's own maximum, whatever base it was summed with. A NaN score may have been
  // passed over by the maximum, but never by the sum.
  HWY_ATTR HWY_INLINE void state(int v, float* state_max, float* state_sum) const {
    const D d;
    const V whole = hn::Mul(sum[v], exponential(hn::Sub(base[v], shift(max[v]))));
    hn::Store(hn::IfThenElse(hn::Eq(sum[v], sum[v]), max[v], sum[v]), d, state_max + v * lanes());
    hn::Store(whole, d, state_sum + v * lanes());
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_RUNNING_SUMS_INL_H_
