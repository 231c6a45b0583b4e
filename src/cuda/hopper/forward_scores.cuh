// What the options make of a tile of scores, in the registers where the product has left them (fragments.h).
// How sums are contracted is written out, so that a score's bits are the same wherever it is made.
#pragma once

#include <math_constants.h>

#include "cuda/hopper/hidden.h"
#include "cuda/hopper/instructions.cuh"
#include "cuda/hopper/parameters.h"
#include "cuda/hopper/tanh.h"

namespace attend::cuda {

inline constexpr float kLog2e = 1.4426950408889634f;

// Those of a row whose bits are not set.
template <int kCount>
__device__ __forceinline__ void hide(float (&s)[kCount], int r, std::uint32_t seen) {
#pragma unroll
  for (int e = 0; e < kCount / 2; ++e) {
    if ((seen & 1u << e) == 0) s[sum_of_row(r, e)] = -CUDART_INF_F;
  }
}

// tanh(h / 2), near 0 and far from it.
__device__ __forceinline__ bool is_small(float h) { return (__float_as_uint(h) & kTooLargeForTanh) == 0; }
__device__ __forceinline__ float tanh_of_small(float h) {
  return __fmul_rn(h, tanh_polynomial(tanh_terms(), __fmul_rn(h, h),
                                      [](float a, float b, float c) { return __fmaf_rn(a, b, c); }));
}
__device__ __forceinline__ float tanh_of_large(float h) {
  return 1.f - __fdividef(2.f, 1.f + exp2_unit(fminf(h * kLog2e, 80.f)));
}
__device__ __forceinline__ float tanh_of_any(float h) {
  return is_small(h) ? tanh_of_small(h) : tanh_of_large(h);
}

// Raw products become twice their share of the cap, as tanh.h wants them. Whether some of the warp's are not
// small.
template <int kCount>
__device__ __forceinline__ bool scale_to_cap(float (&s)[kCount], float to_cap) {
  std::uint32_t bits[4] = {};
#pragma unroll
  for (int x = 0; x < kCount; x += 2) {
    s[x] = __fmul_rn(s[x], 2 * to_cap);
    s[x + 1] = __fmul_rn(s[x + 1], 2 * to_cap);
    bits[x / 2 % 4] |= __float_as_uint(s[x]) | __float_as_uint(s[x + 1]);
  }
  return __any_sync(~0u, ((bits[0] | bits[1] | bits[2] | bits[3]) & kTooLargeForTanh) != 0);
}

// Raw products become shares of the cap. A warp whose scores are all below their cap needs no exponentials;
// each score is the same either way.
template <int kCount>
__device__ __forceinline__ void cap(float (&s)[kCount], float to_cap) {
  if (scale_to_cap(s, to_cap)) {
#pragma unroll
    for (int x = 0; x < kCount; ++x) s[x] = tanh_of_any(s[x]);
  } else {
#pragma unroll
    for (int x = 0; x < kCount; ++x) s[x] = tanh_of_small(s[x]);
  }
}

// Takes off slope * distance; slope >= 0. `position` is that of the first row, counted from the thread's
// first column: what is left of a distance is a constant of the score.
template <int kCount>
__device__ __forceinline__ void add_slope(float (&s)[kCount], float slope, float position) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float of_row = slope * (position + 8 * r);
#pragma unroll
    for (int e = 0; e < kCount / 2; ++e) {
      const int x = sum_of_row(r, e);
      s[x] = __fadd_rn(s[x], -fabsf(__fmaf_rn(-slope, static_cast<float>(sum_column(0, x)), of_row)));
    }
  }
}

// Two neighbours of a bias, f32 or of 16 bits, and the words of a mask: asked for where the asm stands, and
// not waited for before they are used.
__device__ __forceinline__ void ask_two(std::uint32_t& a, std::uint32_t& b, const char* from) {
  asm volatile("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(from));
}
__device__ __forceinline__ void ask(std::uint32_t& a, const void* from) {
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(a) : "l"(from));
}

// A bias in a thread's registers: the word of score x where they are f32, of scores x and x + 1 at x / 2
// else.
template <int kCount>
struct BiasTile {
  std::uint32_t words[kCount];

  // rows: of a thread's two rows, each from column 0 on; first: the thread's first column.
  __device__ __forceinline__ void ask_for(const BiasRows& bias, const char* const (&rows)[2], int first) {
    if (bias.columns == 0) {
      ask_for_one(bias, rows);
    } else if (bias.number == Number::f32) {
      if (first + 2 * kCount <= bias.columns) {
#pragma unroll
        for (int x = 0; x < kCount; x += 2)
          ask_two(words[x], words[x + 1], rows[x >> 1 & 1] + std::int64_t{first} * 4 + sum_column(0, x) * 4);
      } else {
#pragma unroll
        for (int x = 0; x < kCount; x += 2)
          ask_two(words[x], words[x + 1],
                  rows[x >> 1 & 1] + std::int64_t{min(first + sum_column(0, x), bias.columns - 2)} * 4);
      }
    } else {
#pragma unroll
      for (int x = 0; x < kCount; x += 2)
        ask(words[x / 2],
            rows[x >> 1 & 1] + std::int64_t{min(first + sum_column(0, x), bias.columns - 2)} * 2);
    }
  }
  // One number for all keys of a row.
  __device__ __forceinline__ void ask_for_one(const BiasRows& bias, const char* const (&rows)[2]) {
    std::uint32_t of_row[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (bias.number == Number::f32) {
        ask(of_row[r], rows[r]);
      } else {
        const std::uint32_t half = *reinterpret_cast<const std::uint16_t*>(rows[r]);
        of_row[r] = half | half << 16;
      }
    }
#pragma unroll
    for (int x = 0; x < kCount; ++x) {
      const std::uint32_t of_pair = x % 2 == 0 ? of_row[0] : of_row[1];  // in pairs of scores
      words[x] = bias.number == Number::f32 ? (x / 2 % 2 == 0 ? of_row[0] : of_row[1]) : of_pair;
    }
  }

  // s times `unit`, plus the bias; -inf hides a key whatever the key holds.
  __device__ __forceinline__ void add_to(float (&s)[kCount], float unit, Number number) const {
    const auto add = [&](float& score, float bias) {
      const float sum = __fmaf_rn(score, unit, bias);
      score = bias == -CUDART_INF_F ? -CUDART_INF_F : sum;
    };
    if (number == Number::f32) {
#pragma unroll
      for (int x = 0; x < kCount; ++x) add(s[x], __uint_as_float(words[x]));
    } else if (number == Number::bf16) {
#pragma unroll
      for (int x = 0; x < kCount; x += 2) {
        add(s[x], __uint_as_float(words[x / 2] << 16));
        add(s[x + 1], __uint_as_float(words[x / 2] & 0xFFFF0000u));
      }
    } else {
#pragma unroll
      for (int x = 0; x < kCount; x += 2) {
        const float2 two = __half22float2(reinterpret_cast<const __half2&>(words[x / 2]));
        add(s[x], two.x);
        add(s[x + 1], two.y);
      }
    }
  }
};

}  // namespace attend::cuda
