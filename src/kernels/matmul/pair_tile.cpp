#include "kernels/matmul/pair_tile.h"

#if defined(__x86_64__)

#include <hwy/base.h>
#include <immintrin.h>

#include <cstring>

HWY_PUSH_ATTRIBUTES("avx512f,avx512vl,avx512bf16")
namespace attend::kernels {
namespace {

// clang 16 crashes where the first form meets the product, gcc 12 warns of the second.
inline __m512i pair_in_every_lane(const bfloat16* from) noexcept {
  std::int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
#if !defined(__clang__)
  return _mm512_set1_epi32(pair);
#else
  return _mm512_broadcastd_epi32(_mm_cvtsi32_si128(pair));
#endif
}

template <int kR, int kV, bool kAhead>
void multiply_pairs(const PairTile& tile) noexcept {
  __m512 sums[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  const std::uint32_t* b[kV];
  for (int v = 0; v < kV; ++v) b[v] = tile.b[v];
  const bfloat16* const a = tile.a;
  const std::int64_t pairs = tile.pairs, a_row = tile.a_row;
  const std::int64_t every = kAhead ? (pairs + tile.step - 1) / tile.step : pairs;
  const float* next = tile.ahead;
  for (std::int64_t i = 0; i < pairs;) {
    if constexpr (kAhead) {
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) __builtin_prefetch(next + v * tile.apart, 0, 2);
      next += 16;
    }
    const std::int64_t stop = pairs - i < every ? pairs : i + every;
    for (; i < stop; ++i) {
      __m512i line[kV];
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v) line[v] = _mm512_load_si512(b[v] + i * 16);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) {
        const __m512i x = pair_in_every_lane(a + r * a_row + 2 * i);
#pragma GCC unroll 4
        for (int v = 0; v < kV; ++v)
          sums[r][v] = _mm512_dpbf16_ps(sums[r][v], (__m512bh)x, (__m512bh)line[v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) {
      float* const at = tile.sums + r * tile.width + v * 16;
      _mm512_store_ps(at, tile.add ? _mm512_add_ps(_mm512_load_ps(at), sums[r][v]) : sums[r][v]);
    }
  }
}

template <int kR, int kV>
void multiply_sized(const PairTile& tile) noexcept {
  if constexpr (kV > 1) {
    if (tile.panels < kV) return multiply_sized<kR, kV - 1>(tile);
  }
  if constexpr (kR > 1) {
    if (tile.rows < kR) return multiply_sized<kR - 1, kV>(tile);
  }
  tile.ahead != nullptr ? multiply_pairs<kR, kV, true>(tile) : multiply_pairs<kR, kV, false>(tile);
}

}  // namespace

void multiply_pair_tile(const PairTile& tile) noexcept {
  multiply_sized<kPairTileRows, kPairTilePanels>(tile);
}

}  // namespace attend::kernels
HWY_POP_ATTRIBUTES

#endif
