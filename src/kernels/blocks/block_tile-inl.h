// A panel of blocks times a few vectors, where there is no instruction that multiplies and adds up four
// bytes: on AVX2 by pairs of bytes, elsewhere in plain C++, which the compiler makes vectors of.
//
// vpmaddubsw adds two products in 16 bits and saturates. Numbers of 4 bits cannot get there even when eight
// such pairs are added first (8 x 2 x 15 x 127 = 30,480), those of 6 bits not with two (2 x 2 x 63 x 127 =
// 32,004); for 8 bits the sign goes to the other factor, and one pair is at most 2 x 128 x 127 = 32,512.
#if defined(ATTEND_KERNELS_BLOCKS_BLOCK_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_BLOCKS_BLOCK_TILE_INL_H_
#undef ATTEND_KERNELS_BLOCKS_BLOCK_TILE_INL_H_
#else
#define ATTEND_KERNELS_BLOCKS_BLOCK_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/blocks/block_panel.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

constexpr std::int64_t kHalves = 2 * kBlockColumns;  // bytes of sixteen numbers of 16 bits
constexpr std::int64_t kVectorBytes = 4 * kBlockColumns;

// Where the scales of a block begin: d and m of 16 bits, and in types with groups the scales of 8 bits.
struct ScalePlace {
  const std::byte* halves;
  const std::byte* bytes;
};

template <BlockType kType>
HWY_INLINE ScalePlace scale_place(const std::byte* scales, std::int64_t block) {
  if constexpr (kType == BlockType::q4_k || kType == BlockType::q6_k) {
    constexpr std::int64_t kGroup = panel_scale_bytes(kType, kGroupBlocks);
    const std::byte* const group = scales + block / kGroupBlocks * kGroup;
    return {group,
            group + (kType == BlockType::q4_k ? 2 : 1) * kHalves + block % kGroupBlocks * 2 * kBlockColumns};
  } else {
    return {scales + block * panel_scale_bytes(kType, 1), nullptr};
  }
}

template <BlockType kType>
constexpr bool kHasOffset = kType == BlockType::q4_1 || kType == BlockType::q4_k;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

constexpr int kMostVectors = 4;

HWY_ATTR HWY_INLINE __m256 halves_at(const std::byte* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
HWY_ATTR HWY_INLINE __m256 unsigned_at(const std::byte* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
HWY_ATTR HWY_INLINE __m256 signed_at(const std::byte* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

// Eight columns of a block. Numbers of 8 bits are signed, the others not.
template <BlockType kType>
HWY_ATTR HWY_INLINE void unpack(const std::byte* numbers, __m256i (&u)[8]) {
  const auto load = [&](int v) HWY_ATTR {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(numbers + kVectorBytes * v));
  };
  if constexpr (kType == BlockType::q8_0) {
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) u[v] = _mm256_xor_si256(load(v), _mm256_set1_epi8(-128));
  } else {
    const __m256i low = _mm256_set1_epi8(15);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m256i both = load(v);
      u[v] = _mm256_and_si256(both, low);
      u[v + 4] = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
    }
  }
  if constexpr (kType == BlockType::q6_k) {
    const __m256i upper = _mm256_set1_epi8(0x30);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const __m256i bits = load(4 + h);
      u[4 * h] = _mm256_or_si256(u[4 * h], _mm256_and_si256(_mm256_slli_epi16(bits, 4), upper));
      u[4 * h + 1] = _mm256_or_si256(u[4 * h + 1], _mm256_and_si256(_mm256_slli_epi16(bits, 2), upper));
      u[4 * h + 2] = _mm256_or_si256(u[4 * h + 2], _mm256_and_si256(bits, upper));
      u[4 * h + 3] = _mm256_or_si256(u[4 * h + 3], _mm256_and_si256(_mm256_srli_epi16(bits, 2), upper));
    }
  }
}

HWY_ATTR HWY_INLINE __m256i four_of(const VectorBlock& vector, int v) {
  std::int32_t four;
  __builtin_memcpy(&four, vector.values + 4 * v, sizeof(four));
  return _mm256_set1_epi32(four);
}

HWY_ATTR HWY_INLINE __m256i wide(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

// The exact sums of vectors [kFirst, kLast) of u times those of the vector, for eight columns.
template <BlockType kType, int kFirst, int kLast>
HWY_ATTR HWY_INLINE __m256i exact_sums(const __m256i (&u)[8], const VectorBlock& vector) {
  constexpr int kAdded = kType == BlockType::q8_0 ? 1 : kType == BlockType::q6_k ? 2 : kLast - kFirst;
  __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int first = kFirst; first < kLast; first += kAdded) {
    __m256i pairs = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int v = first; v < first + kAdded; ++v) {
      const __m256i four = four_of(vector, v);
      const __m256i products = kType == BlockType::q8_0
                                   ? _mm256_maddubs_epi16(_mm256_abs_epi8(u[v]), _mm256_sign_epi8(four, u[v]))
                                   : _mm256_maddubs_epi16(u[v], four);
      pairs = _mm256_add_epi16(pairs, products);
    }
    sum = _mm256_add_epi32(sum, wide(pairs));
  }
  return sum;
}

// Eight columns from `half` on, and kR vectors.
template <BlockType kType, int kR>
HWY_ATTR void half_tile(const std::byte* panel, std::int64_t blocks, std::int64_t half,
                        const VectorBlock* vectors, float* to) {
  const std::byte* const scales = panel + blocks * panel_number_bytes(kType);
  __m256 sums[kR];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) sums[r] = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < blocks; ++b) {
    __m256i u[8];
    unpack<kType>(panel + b * panel_number_bytes(kType) + 4 * half, u);
    const ScalePlace place = scale_place<kType>(scales, b);
    __m256 scale = halves_at(place.halves + 2 * half), other = scale;
    if constexpr (kType == BlockType::q4_1) other = halves_at(place.halves + kHalves + 2 * half);
    if constexpr (kType == BlockType::q4_k) {
      scale = _mm256_mul_ps(scale, unsigned_at(place.bytes + half));
      other =
          _mm256_sub_ps(_mm256_setzero_ps(), _mm256_mul_ps(halves_at(place.halves + kHalves + 2 * half),
                                                           unsigned_at(place.bytes + kBlockColumns + half)));
    }
    if constexpr (kType == BlockType::q6_k) {
      other = _mm256_mul_ps(scale, signed_at(place.bytes + kBlockColumns + half));
      scale = _mm256_mul_ps(scale, signed_at(place.bytes + half));
    }
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) {
      const VectorBlock& vector = vectors[r * blocks + b];
      const __m256 of_vector = _mm256_set1_ps(vector.scale);
      const __m256 factor = _mm256_mul_ps(scale, of_vector);
      if constexpr (kType == BlockType::q6_k) {
        const __m256i first =
            _mm256_add_epi32(exact_sums<kType, 0, 4>(u, vector), _mm256_set1_epi32(vector.minus_32[0]));
        const __m256i second =
            _mm256_add_epi32(exact_sums<kType, 4, 8>(u, vector), _mm256_set1_epi32(vector.minus_32[1]));
        sums[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(first), factor, sums[r]);
        sums[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(second), _mm256_mul_ps(other, of_vector), sums[r]);
      } else {
        __m256i exact = exact_sums<kType, 0, 8>(u, vector);
        if constexpr (kType == BlockType::q4_0)
          exact = _mm256_add_epi32(exact, _mm256_set1_epi32(vector.minus_8));
        sums[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), factor, sums[r]);
        if constexpr (kHasOffset<kType>)
          sums[r] = _mm256_fmadd_ps(other, _mm256_set1_ps(vector.weighted), sums[r]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) _mm256_store_ps(to + r * kBlockColumns + half, sums[r]);
}

template <BlockType kType, int kR = kMostVectors>
HWY_ATTR void block_tile(std::int64_t rows, const std::byte* panel, std::int64_t blocks,
                         const VectorBlock* vectors, float* to) {
  if constexpr (kR > 1) {
    if (rows < kR) return block_tile<kType, kR - 1>(rows, panel, blocks, vectors, to);
  }
  half_tile<kType, kR>(panel, blocks, 0, vectors, to);
  half_tile<kType, kR>(panel, blocks, 8, vectors, to);
}

#else

constexpr std::int64_t kMostVectors = 8;

template <BlockType kType>
HWY_ATTR void unpack(const std::byte* numbers, std::uint8_t (&u)[8][kVectorBytes]) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(numbers);
  for (int v = 0; v < 8; ++v) {
    for (int i = 0; i < kVectorBytes; ++i) {
      if constexpr (kType == BlockType::q8_0) {
        u[v][i] = from[v * kVectorBytes + i];
      } else {
        const unsigned both = from[v % 4 * kVectorBytes + i];
        unsigned number = v < 4 ? both & 15u : both >> 4;
        if constexpr (kType == BlockType::q6_k)
          number |= (from[(4 + v / 4) * kVectorBytes + i] >> (v % 4 * 2) & 3u) << 4;
        u[v][i] = static_cast<std::uint8_t>(number);
      }
    }
  }
}

HWY_ATTR HWY_INLINE float half_of(const std::byte* from, int column) {
  float16 half;
  __builtin_memcpy(&half.bits, from + 2 * column, sizeof(half.bits));
  return to_float(half);
}

// The exact sums of the columns over vectors [first, last).
HWY_ATTR HWY_INLINE void add_exact(const std::uint8_t (&u)[8][kVectorBytes], const VectorBlock& vector,
                                   int first, int last, std::int32_t (&sums)[kBlockColumns]) {
  for (int v = first; v < last; ++v) {
    const std::int8_t* const four = vector.values + 4 * v;
    for (int c = 0; c < kBlockColumns; ++c) {
      for (int i = 0; i < 4; ++i) sums[c] += u[v][4 * c + i] * four[i];
    }
  }
}

template <BlockType kType>
HWY_ATTR void block_tile(std::int64_t rows, const std::byte* panel, std::int64_t blocks,
                         const VectorBlock* vectors, float* to) {
  const std::byte* const scales = panel + blocks * panel_number_bytes(kType);
  const std::int64_t count = rows < kMostVectors ? rows : kMostVectors;
  for (std::int64_t r = 0; r < count; ++r) {
    for (int c = 0; c < kBlockColumns; ++c) to[r * kBlockColumns + c] = 0;
  }
  for (std::int64_t b = 0; b < blocks; ++b) {
    std::uint8_t u[8][kVectorBytes];
    unpack<kType>(panel + b * panel_number_bytes(kType), u);
    const ScalePlace place = scale_place<kType>(scales, b);
    float scale[kBlockColumns], other[kBlockColumns];
    for (int c = 0; c < kBlockColumns; ++c) {
      scale[c] = half_of(place.halves, c);
      other[c] = kHasOffset<kType> ? half_of(place.halves + kHalves, c) : scale[c];
      if constexpr (kType == BlockType::q4_k) {
        scale[c] *= static_cast<float>(std::to_integer<int>(place.bytes[c]));
        other[c] *= -static_cast<float>(std::to_integer<int>(place.bytes[kBlockColumns + c]));
      }
      if constexpr (kType == BlockType::q6_k) {
        const auto* const both = reinterpret_cast<const std::int8_t*>(place.bytes);
        scale[c] *= static_cast<float>(both[c]);
        other[c] *= static_cast<float>(both[kBlockColumns + c]);
      }
    }
    for (std::int64_t r = 0; r < count; ++r) {
      const VectorBlock& vector = vectors[r * blocks + b];
      std::int32_t first[kBlockColumns], second[kBlockColumns];
      for (int c = 0; c < kBlockColumns; ++c) {
        first[c] = kType == BlockType::q4_0   ? vector.minus_8
                   : kType == BlockType::q8_0 ? vector.minus_128
                   : kType == BlockType::q6_k ? vector.minus_32[0]
                                              : 0;
        second[c] = vector.minus_32[1];
      }
      constexpr bool kHalved = kType == BlockType::q6_k;
      add_exact(u, vector, 0, kHalved ? 4 : 8, first);
      if constexpr (kHalved) add_exact(u, vector, 4, 8, second);
      float* const row = to + r * kBlockColumns;
      for (int c = 0; c < kBlockColumns; ++c) {
        row[c] += static_cast<float>(first[c]) * (scale[c] * vector.scale);
        if constexpr (kHalved) row[c] += static_cast<float>(second[c]) * (other[c] * vector.scale);
        if constexpr (kHasOffset<kType>) row[c] += other[c] * vector.weighted;
      }
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_BLOCKS_BLOCK_TILE_INL_H_
