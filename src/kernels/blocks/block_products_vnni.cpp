// AVX-512 with VNNI. One instruction multiplies four numbers of each of 16 columns with four of the vector,
// which are read by broadcast. A tile is a panel and up to eight vectors, which share the unpacked numbers: 8
// registers of numbers, 8 of sums and 8 of products.
#include "kernels/blocks/block_products.h"

#if defined(__x86_64__)

#include <hwy/base.h>

// gcc 12 takes the unused registers of its own intrinsics for variables that nobody has set (its bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstring>

HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")
namespace attend::kernels {
namespace {

constexpr int kMostVectors = 8;

inline __m512 halves(const std::byte* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline __m512 unsigned_bytes(const std::byte* from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
inline __m512 signed_bytes(const std::byte* from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

// The numbers of a block as bytes: vector v has numbers [4 v, 4 v + 4) of each column.
template <BlockType kType>
inline void unpack(const std::byte* numbers, __m512i (&u)[8]) {
  const auto load = [&](int v) { return _mm512_load_si512(numbers + 64 * v); };
  if constexpr (kType == BlockType::q8_0) {
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) u[v] = load(v);
  } else {
    const __m512i low = _mm512_set1_epi8(15);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512i both = load(v);
      u[v] = _mm512_and_si512(both, low);
      u[v + 4] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
    }
  }
  if constexpr (kType == BlockType::q6_k) {
    const __m512i upper = _mm512_set1_epi8(0x30);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const __m512i bits = load(4 + h);
      u[4 * h] = _mm512_or_si512(u[4 * h], _mm512_and_si512(_mm512_slli_epi16(bits, 4), upper));
      u[4 * h + 1] = _mm512_or_si512(u[4 * h + 1], _mm512_and_si512(_mm512_slli_epi16(bits, 2), upper));
      u[4 * h + 2] = _mm512_or_si512(u[4 * h + 2], _mm512_and_si512(bits, upper));
      u[4 * h + 3] = _mm512_or_si512(u[4 * h + 3], _mm512_and_si512(_mm512_srli_epi16(bits, 2), upper));
    }
  }
}

// What a block's numbers are multiplied by; `other` is the offset, or the scale of the second half.
struct Scales {
  __m512 scale, other;
};

template <BlockType kType>
inline Scales scales_of(const std::byte* scales, std::int64_t block) {
  constexpr std::int64_t kHalves = 2 * kBlockColumns;
  if constexpr (kType == BlockType::q4_0 || kType == BlockType::q8_0) {
    const __m512 scale = halves(scales + block * kHalves);
    return {scale, scale};
  } else if constexpr (kType == BlockType::q4_1) {
    const std::byte* const both = scales + block * 2 * kHalves;
    return {halves(both), halves(both + kHalves)};
  } else {
    constexpr std::int64_t kGroup = panel_scale_bytes(kType, kGroupBlocks);
    constexpr std::int64_t kOfGroup = (kType == BlockType::q4_k ? 2 : 1) * kHalves;
    const std::byte* const group = scales + block / kGroupBlocks * kGroup;
    const std::byte* const both = group + kOfGroup + block % kGroupBlocks * 2 * kBlockColumns;
    const __m512 d = halves(group);
    if constexpr (kType == BlockType::q6_k)
      return {_mm512_mul_ps(d, signed_bytes(both)), _mm512_mul_ps(d, signed_bytes(both + kBlockColumns))};
    const __m512 offset = _mm512_mul_ps(halves(group + kHalves), unsigned_bytes(both + kBlockColumns));
    return {_mm512_mul_ps(d, unsigned_bytes(both)), _mm512_sub_ps(_mm512_setzero_ps(), offset)};
  }
}

inline __m512i four_of(const VectorBlock& vector, int v) {
  std::int32_t four;
  std::memcpy(&four, vector.values + 4 * v, sizeof(four));
  return _mm512_set1_epi32(four);
}

template <BlockType kType>
inline __m512 add_block(const __m512i (&u)[8], const Scales& scales, const VectorBlock& vector, __m512 sum) {
  constexpr bool kHalved = kType == BlockType::q6_k;
  __m512i first = _mm512_setzero_si512(), second = first;
  if constexpr (kType == BlockType::q4_0) first = _mm512_set1_epi32(vector.minus_8);
  if constexpr (kType == BlockType::q8_0) first = _mm512_set1_epi32(vector.minus_128);
  if constexpr (kHalved) {
    first = _mm512_set1_epi32(vector.minus_32[0]);
    second = _mm512_set1_epi32(vector.minus_32[1]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    first = _mm512_dpbusd_epi32(first, u[v], four_of(vector, v));
    second = _mm512_dpbusd_epi32(second, u[v + 4], four_of(vector, v + 4));
  }
  const __m512 scale = _mm512_set1_ps(vector.scale);
  if constexpr (kHalved) {
    sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(first), _mm512_mul_ps(scales.scale, scale), sum);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(second), _mm512_mul_ps(scales.other, scale), sum);
  } else {
    const __m512 products = _mm512_cvtepi32_ps(_mm512_add_epi32(first, second));
    sum = _mm512_fmadd_ps(products, _mm512_mul_ps(scales.scale, scale), sum);
    if constexpr (kType == BlockType::q4_1 || kType == BlockType::q4_k)
      sum = _mm512_fmadd_ps(scales.other, _mm512_set1_ps(vector.weighted), sum);
    return sum;
  }
}

// One panel and kR vectors.
template <BlockType kType, int kR>
void tile(const std::byte* panel, std::int64_t blocks, const VectorBlock* vectors, float* to) {
  const std::byte* const scales = panel + blocks * panel_number_bytes(kType);
  __m512 sums[kR];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) sums[r] = _mm512_setzero_ps();
  for (std::int64_t b = 0; b < blocks; ++b) {
    __m512i u[8];
    unpack<kType>(panel + b * panel_number_bytes(kType), u);
    const Scales scale = scales_of<kType>(scales, b);
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) sums[r] = add_block<kType>(u, scale, vectors[r * blocks + b], sums[r]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) _mm512_store_ps(to + r * kBlockColumns, sums[r]);
}

template <BlockType kType, int kR = kMostVectors>
void tile_of(std::int64_t rows, const std::byte* panel, std::int64_t blocks, const VectorBlock* vectors,
             float* to) {
  if constexpr (kR > 1) {
    if (rows < kR) return tile_of<kType, kR - 1>(rows, panel, blocks, vectors, to);
  }
  tile<kType, kR>(panel, blocks, vectors, to);
}

template <BlockType kType>
void multiply_as(const PanelProducts& p) {
  for (std::int64_t r = 0; r < p.rows; r += kMostVectors)
    tile_of<kType>(p.rows - r, p.panel, p.blocks, p.vectors + r * p.blocks, p.sums + r * kBlockColumns);
}

}  // namespace

void panel_products_vnni(const PanelProducts& p) noexcept {
  with_block_type(p.type, [&]<BlockType kType>() { multiply_as<kType>(p); });
}

}  // namespace attend::kernels
HWY_POP_ATTRIBUTES

#else

namespace attend::kernels {
void panel_products_vnni(const PanelProducts&) noexcept {}
}  // namespace attend::kernels

#endif
