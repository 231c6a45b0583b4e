// The weights of a tile, made without looking for its largest score first: relative to a score that their row
// has had, its reference. Finding the largest is a fifth of the loop's instructions, at half the rate of
// others, and no weight can be made before. Where weights turn out to be too large, which is rare, the row's
// largest score becomes its reference, and they are made again. Each row decides by itself, so that its
// neighbours change no bit.
#pragma once

#include <math_constants.h>

#include "cuda/hopper/exp2.h"
#include "cuda/hopper/instructions.cuh"
#include "cuda/hopper/parameters.h"

namespace attend::cuda {

// Scores of so many powers of 2 lie so far apart that only the largest counts: a unit that is itself a power
// of 2 then makes its shift exact, where rounding alone could exceed what an exponent holds.
inline constexpr float kEnormous = 1 << 27;
// What a thread's weights of a row and tile may add up to, 32 of them: far from the 65504 that f16 holds.
inline constexpr float kMostAdded = 1024;

__device__ __forceinline__ float larger_or_nan(float a, float b) {  // where fmaxf() would lose NaN
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
__device__ __forceinline__ float smaller_or_nan(float a, float b) {
  float smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
  return smaller;
}
__device__ __forceinline__ float unit_around(const HopperParameters& p, float reference) {
  return fabsf(reference * p.log2_unit) < kEnormous ? p.log2_unit : p.enormous_unit;
}

// Of a thread, two rows (r = 0, 1) of kCount scores. A weight is 2^(score * unit - shift). Where registers
// allow it, weights stay f32 and are added up and packed later (kApart): beside an exponential, what uses it
// waits, and the warp with it.
template <class T, int kCount, bool kApart, int kPolynomialEvery>
struct GuessedWeights {
  std::uint32_t packed_weights[kApart ? 1 : kCount / 2];
  float weights[kApart ? kCount : 1];
  float unit[2], shift[2];
  float added[2];  // sums of the tile

  // Every kPolynomialEvery-th pair of exponentials by multiply-adds (0: none), unless kExact: there NaN, and
  // what is larger than an exponent holds, are far too large, and what is below is 2^-126.
  template <bool kHidden, bool kExact>
  __device__ __forceinline__ static float power(float x, int pair) {
    if (kExact || kPolynomialEvery == 0 || pair % (kPolynomialEvery + (kPolynomialEvery == 0)) != 0)
      return exp2_unit(x);
    const float clamped = smaller_or_nan(larger_or_nan(x, -126.f), 126.f);
    const float whole = clamped + 12582912.f;  // 1.5 * 2^23: rounds to a whole number in its low bits
    const float y = exp2_polynomial(clamped - (whole - 12582912.f));
    const float result = __int_as_float(__float_as_int(y) + (__float_as_int(whole) << 23));
    return kHidden && x < -126.f ? 0.f : result;
  }
  template <bool kHidden, bool kExact>
  __device__ __forceinline__ void make(const float (&s)[kCount], int r) {
    added[r] = 0;
#pragma unroll
    for (int x = 2 * r; x < kCount; x += 4) {
      const float a = power<kHidden, kExact>(__fmaf_rn(s[x], unit[r], -shift[r]), x / 4),
                  b = power<kHidden, kExact>(__fmaf_rn(s[x + 1], unit[r], -shift[r]), x / 4);
      if constexpr (kApart) {
        weights[x] = a;
        weights[x + 1] = b;
      } else {
        added[r] += a + b;
        packed_weights[x / 2] = packed(T{}, a, b);
      }
    }
  }
  // `nothing` is 0, but comes from memory: all additions wait for it, and the assembler cannot mix them among
  // the exponentials.
  __device__ __forceinline__ void add_up(int r, float nothing) {
    if constexpr (kApart) {
      float even = nothing, odd = nothing;
#pragma unroll
      for (int x = 2 * r; x < kCount; x += 4) {
        even += weights[x];
        odd += weights[x + 1];
      }
      added[r] = even + odd;
    }
  }
  __device__ __forceinline__ std::uint32_t packed_pair(int pair) const {
    if constexpr (kApart) return packed(T{}, weights[2 * pair], weights[2 * pair + 1]);
    return packed_weights[kApart ? 0 : pair];
  }
  __device__ __forceinline__ bool too_large(int r) const { return !(added[r] <= kMostAdded); }  // or NaN

  // Those of a row again, relative to its largest score so far, if one of its four threads found `mine`.
  // Returns what earlier tiles are to be multiplied with.
  __device__ __forceinline__ float raise(const HopperParameters& p, const float (&s)[kCount], int r,
                                         float largest_of_row, bool mine, int thread, float& reference) {
    if ((__ballot_sync(~0u, mine) >> (thread & 28) & 15) == 0) return 1;
    const float now = fmaxf(reference, largest_of_row);
    const bool none = now == -CUDART_INF_F;  // no key of the row so far
    const float alpha = none ? 1.f : exp2_unit((reference - now) * p.log2_unit);
    reference = now;
    unit[r] = unit_around(p, now);
    shift[r] = none ? 0.f : now * unit[r];
    make<true, true>(s, r);
    add_up(r, 0);
    if (none) shift[r] = -CUDART_INF_F;  // whatever its score, the next key is too much
    return alpha;
  }
};

struct NoGuess {};

}  // namespace attend::cuda
