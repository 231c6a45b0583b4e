// Pairs of bf16 numbers in 32-bit lanes, the first in the lower half, and their products summed in fp32: what
// AVX512-BF16 has instructions for. Such functions may only be called where has_extension() says so.
#if defined(ATTEND_KERNELS_SIMD_BF16_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_SIMD_BF16_PAIRS_INL_H_
#undef ATTEND_KERNELS_SIMD_BF16_PAIRS_INL_H_
#else
#define ATTEND_KERNELS_SIMD_BF16_PAIRS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "kernels/simd/micro_kernel-inl.h"
#include "kernels/simd/outer_product-inl.h"
#include "kernels/simd/transpose-inl.h"

// The targets that have them, and the one of these that is compiled.
#undef ATTEND_BF16_TARGETS
#define ATTEND_BF16_TARGETS (HWY_AVX3 | HWY_AVX3_DL)

// The instruction sets to which these instructions are added.
#undef ATTEND_BF16_PAIRS
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define ATTEND_BF16_PAIRS 1
#else
#define ATTEND_BF16_PAIRS 0
#endif

#if ATTEND_BF16_PAIRS

// Functions between these two, and lambdas with ATTEND_BF16_ATTR, may use them.
#undef ATTEND_BEFORE_BF16
#undef ATTEND_AFTER_BF16
#undef ATTEND_BF16_ATTR
#define ATTEND_BEFORE_BF16() HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16") static_assert(true)
#define ATTEND_AFTER_BF16() HWY_POP_ATTRIBUTES static_assert(true)
#define ATTEND_BF16_ATTR __attribute__((target(HWY_TARGET_STR ",avx512bf16")))

ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

using Pairs = hn::Vec<DI>;

// sum + a.second * b.second + a.first * b.first, rounded after each; subnormal numbers count as 0.
HWY_INLINE V dot_pairs(V sum, Pairs a, Pairs b) {
  return V{_mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(a.raw), reinterpret_cast<__m512bh>(b.raw))};
}

// The same pair in every lane. clang 16 must not see where it comes from: asking what a broadcast costs as
// bfloat, its VectorCombine calls itself without end.
HWY_INLINE Pairs same_pair(std::int32_t pair) {
  Pairs x = hn::Set(DI(), pair);
#if HWY_COMPILER_CLANG
  asm("" : "+v"(x.raw));
#endif
  return x;
}

// 16 numbers in the lower half of the vector and 16 in the upper become 16 pairs.
HWY_INLINE Pairs woven_halves(__m512i halves) {
  HWY_ALIGN static constexpr std::uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                         21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                         11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return Pairs{_mm512_permutexvar_epi16(_mm512_load_si512(kOrder), halves)};
}

// Pairs of numbers rounded to nearest, ties to even.
HWY_INLINE Pairs woven(V first, V second) {
  return woven_halves(reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.raw, first.raw)));
}

HWY_INLINE V first_of(Pairs pairs) { return hn::BitCast(D(), hn::ShiftLeft<16>(pairs)); }
HWY_INLINE V second_of(Pairs pairs) {
  return hn::BitCast(D(), hn::And(pairs, hn::Set(DI(), static_cast<std::int32_t>(0xffff0000u))));
}

// acc[r][v] += sum_n a[r * a_row + n * a_step] . b[n][v]: n pairs, those of a anywhere in memory; strides of
// a are counted in numbers, b has rows of `width` pairs.
template <int kR, int kV>
HWY_INLINE void accumulate_pairs(Slot (&acc)[kR][kV], std::int64_t n, const std::uint16_t* HWY_RESTRICT a,
                                 std::int64_t a_row, std::int64_t a_step, const std::int32_t* HWY_RESTRICT b,
                                 std::int64_t width) {
  const DI d;
  const std::int64_t lane = lanes();
  for (std::int64_t i = 0; i < n; ++i) {
    Pairs row[kV];
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) row[v] = hn::Load(d, b + i * width + v * lane);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, a + r * a_row + i * a_step, sizeof(pair));
      const Pairs x = same_pair(pair);
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) acc[r][v] = dot_pairs(acc[r][v], x, row[v]);
    }
  }
}

// c[r][v] (+)= sum_n a[r * a_row + n * a_step] . b[n][v] for any number of rows.
template <int kV, bool kAdd>
HWY_INLINE void product_of_pairs(std::int64_t rows, std::int64_t n, const std::uint16_t* a,
                                 std::int64_t a_row, std::int64_t a_step, const std::int32_t* b, float* c,
                                 std::int64_t width) {
  for_each_block(rows, [&]<int kR>(std::int64_t r) ATTEND_BF16_ATTR {
    Slot acc[kR][kV];
    if constexpr (kAdd) {
      load_block(acc, c + r * width, width);
    } else {
      clear_block(acc);
    }
    accumulate_pairs(acc, n, a + r * a_row, a_row, a_step, b, width);
    store_block(acc, c + r * width, width);
  });
}

// c (rows, width) += a (rows, 2 n) b (2 n, width) as add_outer_product() has it: two numbers of a row of a
// lie side by side, two rows of b are woven.
HWY_INLINE void add_outer_product_of_pairs(std::int64_t rows, std::int64_t n, const std::uint16_t* a,
                                           std::int64_t a_row, const std::int32_t* b, float* c,
                                           std::int64_t c_row, std::int64_t width) {
  for_each_outer_block(rows, width,
                       [&]<int kR, int kV>(std::int64_t r, std::int64_t column) ATTEND_BF16_ATTR {
                         float* const to = c + r * c_row + column;
                         Slot acc[kR][kV];
                         load_block(acc, to, c_row);
                         prefetch_next_rows<kR, kV>(to, c_row);
                         accumulate_pairs(acc, n, a + r * a_row, a_row, 2, b + column, width);
                         store_block(acc, to, c_row);
                       });
}

// columns[c * width + i] = pair c of row i, for `count` rows of n pairs; 0 for the rows that are missing to
// fill the last vector.
HWY_INLINE void pairs_to_columns(const std::uint16_t* rows, std::int64_t stride, std::int64_t count,
                                 std::int64_t n, std::int32_t* columns, std::int64_t width) {
  const D d;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    for (std::int64_t c = 0; c < n; c += kLanes) {
      const std::int64_t size = std::min<std::int64_t>(kLanes, n - c);
      const auto there = static_cast<__mmask16>((1u << size) - 1);
      Slot x[kLanes];
      for (std::int64_t r = 0; r < kLanes; ++r) {
        x[r] = i + r < count
                   ? V{_mm512_castsi512_ps(_mm512_maskz_loadu_epi32(there, rows + (i + r) * stride + 2 * c))}
                   : hn::Zero(d);
      }
      transpose_block(x);
      for (std::int64_t r = 0; r < size; ++r) {
        hn::Store(hn::BitCast(DI(), x[r]), DI(), columns + (c + r) * width + i);
      }
    }
  }
}

// Neither NaN nor infinite.
HWY_INLINE bool finite_bits(std::uint16_t bits) { return (bits & 0x7f80u) != 0x7f80u; }

// Rows i and i + 1 of `count`, up to 16 numbers of each, one after the other; 0 where there are none.
HWY_INLINE __m512i two_rows(const std::uint16_t* rows, std::int64_t stride, std::int64_t i,
                            std::int64_t count, __mmask16 there) {
  const auto row = [&](std::int64_t r) ATTEND_BF16_ATTR {
    return r < count ? _mm256_maskz_loadu_epi16(there, rows + r * stride) : _mm256_setzero_si256();
  };
  return _mm512_inserti64x4(_mm512_castsi256_si512(row(i)), row(i + 1), 1);
}

// Which of 32 numbers are NaN or infinite.
HWY_INLINE __mmask32 not_finite(__m512i numbers) {
  const __m512i exponent = _mm512_set1_epi16(0x7f80);
  return _mm512_cmpeq_epi16_mask(_mm512_and_si512(numbers, exponent), exponent);
}

HWY_INLINE __mmask16 first_lanes(std::int64_t n) {
  return static_cast<__mmask16>((1u << std::min<std::int64_t>(kLanes, n)) - 1);
}

// pairs[j * width + c] = element c of rows 2j and 2j + 1; 0 for a row after the last, and up to `width`, at
// most 15 more than n. Says whether all are finite.
inline bool weave_rows(const std::uint16_t* rows, std::int64_t stride, std::int64_t count, std::int64_t n,
                       std::int32_t* pairs, std::int64_t width) {
  __mmask32 wrong = 0;
  for (std::int64_t j = 0; j < count; j += 2) {
    for (std::int64_t c = 0; c < n; c += kLanes) {
      const __m512i both = two_rows(rows + c, stride, j, count, first_lanes(n - c));
      wrong |= not_finite(both);
      _mm512_mask_storeu_epi32(pairs + j / 2 * width + c, first_lanes(width - c), woven_halves(both).raw);
    }
  }
  return wrong == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();

#endif  // ATTEND_BF16_PAIRS

// Where code outside any target's namespace finds what was compiled with these instructions.
#if HWY_ONCE && HWY_TARGETS & ATTEND_BF16_TARGETS
namespace attend::kernels {
#if HWY_TARGETS & HWY_AVX3
namespace bf16_set = N_AVX3;
#else
namespace bf16_set = N_AVX3_DL;
#endif
}  // namespace attend::kernels
#endif

#endif  // ATTEND_KERNELS_SIMD_BF16_PAIRS_INL_H_
