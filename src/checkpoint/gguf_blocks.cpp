#include "checkpoint/gguf_blocks.h"

#include <attend/dtype.h>

#include <array>

namespace attend::checkpoint {
namespace {

inline unsigned byte_at(const std::byte* bytes, std::int64_t i) noexcept {
  return std::to_integer<unsigned>(bytes[i]);
}

inline float half_at(const std::byte* bytes) noexcept {
  return to_float(float16{static_cast<std::uint16_t>(byte_at(bytes, 0) | byte_at(bytes, 1) << 8)});
}

inline unsigned word_at(const std::byte* bytes) noexcept {
  return byte_at(bytes, 0) | byte_at(bytes, 1) << 8 | byte_at(bytes, 2) << 16 | byte_at(bytes, 3) << 24;
}

// Blocks of 32 with 4 bits a number and, where `bits` is 5, one more each in a word before them. With an
// offset m the number counts from 0, without one from the middle.
template <int bits, bool has_offset>
void decode_nibbles(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  constexpr std::int64_t kHigh = has_offset ? 4 : 2, kLow = kHigh + (bits == 5 ? 4 : 0), kBytes = kLow + 16;
  constexpr int kMiddle = has_offset ? 0 : 1 << (bits - 1);
  for (std::int64_t b = 0; b < count; ++b, blocks += kBytes, out += 32) {
    const float d = half_at(blocks);
    const float m = has_offset ? half_at(blocks + 2) : 0.0f;
    const unsigned high = bits == 5 ? word_at(blocks + kHigh) : 0;
    for (int i = 0; i < 16; ++i) {
      const unsigned both = byte_at(blocks, kLow + i);
      const int first = static_cast<int>((both & 15u) | (high >> i & 1u) << 4) - kMiddle;
      const int second = static_cast<int>(both >> 4 | (high >> (i + 16) & 1u) << 4) - kMiddle;
      out[i] = d * static_cast<float>(first);
      out[i + 16] = d * static_cast<float>(second);
      if constexpr (has_offset) {
        out[i] += m;
        out[i + 16] += m;
      }
    }
  }
}

// Eight scales and eight offsets of 6 bits in 12 bytes.
struct ScalesOf8 {
  explicit ScalesOf8(const std::byte* s) noexcept {
    for (std::int64_t k = 0; k < 4; ++k) {
      const auto at = static_cast<std::size_t>(k);
      scale[at] = byte_at(s, k) & 63u;
      offset[at] = byte_at(s, k + 4) & 63u;
      scale[at + 4] = (byte_at(s, k + 8) & 15u) | byte_at(s, k) >> 6 << 4;
      offset[at + 4] = byte_at(s, k + 8) >> 4 | byte_at(s, k + 4) >> 6 << 4;
    }
  }
  std::array<unsigned, 8> scale{}, offset{};
};

// Q4_K, and Q5_K where each number has a fifth bit in `high`, bit k of byte l for number l of group k.
template <bool fifth_bit>
void decode_groups_of_32(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  constexpr std::int64_t kHigh = 16, kLow = kHigh + (fifth_bit ? 32 : 0), kBytes = kLow + 128;
  for (std::int64_t b = 0; b < count; ++b, blocks += kBytes) {
    const float d = half_at(blocks), m = half_at(blocks + 2);
    const ScalesOf8 groups(blocks + 4);
    for (std::size_t k = 0; k < 8; ++k, out += 32) {
      const float scale = d * static_cast<float>(groups.scale[k]);
      const float offset = m * static_cast<float>(groups.offset[k]);
      const std::byte* const low = blocks + kLow + 32 * (k / 2);
      const unsigned shift = k % 2 == 0 ? 0 : 4;
      for (int l = 0; l < 32; ++l) {
        unsigned q = byte_at(low, l) >> shift & 15u;
        if constexpr (fifth_bit) q |= (byte_at(blocks, kHigh + l) >> k & 1u) << 4;
        const float scaled = scale * static_cast<float>(static_cast<int>(q));
        out[l] = scaled - offset;
      }
    }
  }
}

}  // namespace

void decode_q4_0(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  decode_nibbles<4, false>(blocks, count, out);
}
void decode_q4_1(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  decode_nibbles<4, true>(blocks, count, out);
}
void decode_q5_0(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  decode_nibbles<5, false>(blocks, count, out);
}
void decode_q5_1(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  decode_nibbles<5, true>(blocks, count, out);
}

void decode_q8_0(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  for (std::int64_t b = 0; b < count; ++b, blocks += 34, out += 32) {
    const float d = half_at(blocks);
    for (int i = 0; i < 32; ++i)
      out[i] = static_cast<float>(static_cast<std::int8_t>(byte_at(blocks, 2 + i))) * d;
  }
}

// 16 bytes, scale and offset of 4 bits each; 64 bytes of 2-bit numbers; d, m.
void decode_q2_k(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  for (std::int64_t b = 0; b < count; ++b, blocks += 84) {
    const float d = half_at(blocks + 80), m = half_at(blocks + 82);
    for (int g = 0; g < 16; ++g, out += 16) {
      const unsigned both = byte_at(blocks, g);
      const float scale = d * static_cast<float>(both & 15u), offset = m * static_cast<float>(both >> 4);
      const std::byte* const q = blocks + 16 + 32 * (g / 8) + 16 * (g % 2);
      const int shift = g % 8 / 2 * 2;
      for (int l = 0; l < 16; ++l) {
        const float scaled = scale * static_cast<float>(static_cast<int>(byte_at(q, l) >> shift & 3u));
        out[l] = scaled - offset;
      }
    }
  }
}

// 32 bytes of third bits, which when missing mean -4; 64 bytes of 2-bit numbers; 12 bytes of scales, the low
// 4 bits of all 16 and then their upper 2; d.
void decode_q3_k(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  for (std::int64_t b = 0; b < count; ++b, blocks += 110) {
    const float d = half_at(blocks + 108);
    const std::byte* const scales = blocks + 96;
    for (int g = 0; g < 16; ++g, out += 16) {
      const unsigned low = byte_at(scales, g % 8) >> (g / 8 * 4) & 15u;
      const unsigned upper = byte_at(scales, 8 + g % 4) >> (g / 4 * 2) & 3u;
      const float scale = d * static_cast<float>(static_cast<int>(low | upper << 4) - 32);
      const std::byte* const q = blocks + 32 + 32 * (g / 8) + 16 * (g % 2);
      const std::byte* const third = blocks + 16 * (g % 2);
      const int shift = g % 8 / 2 * 2, bit = g / 2;
      for (int l = 0; l < 16; ++l) {
        const int value = static_cast<int>(byte_at(q, l) >> shift & 3u) -
                          static_cast<int>((~byte_at(third, l) >> bit & 1u) << 2);
        out[l] = scale * static_cast<float>(value);
      }
    }
  }
}

void decode_q4_k(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  decode_groups_of_32<false>(blocks, count, out);
}
void decode_q5_k(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  decode_groups_of_32<true>(blocks, count, out);
}

// 128 bytes of low nibbles; 64 bytes of upper 2 bits; 16 scales with a sign; d.
void decode_q6_k(const std::byte* blocks, std::int64_t count, float* out) noexcept {
  for (std::int64_t b = 0; b < count; ++b, blocks += 210) {
    const float d = half_at(blocks + 208);
    for (int g = 0; g < 16; ++g, out += 16) {
      const float scale = d * static_cast<float>(static_cast<std::int8_t>(byte_at(blocks, 192 + g)));
      const int half = g / 8, j = g % 8 / 2, start = 16 * (g % 2);
      const std::byte* const low = blocks + 64 * half + 32 * (j % 2) + start;
      const std::byte* const upper = blocks + 128 + 32 * half + start;
      const int low_shift = j / 2 * 4, upper_shift = j * 2;
      for (int l = 0; l < 16; ++l) {
        const unsigned q = (byte_at(low, l) >> low_shift & 15u) | (byte_at(upper, l) >> upper_shift & 3u)
                                                                      << 4;
        out[l] = scale * static_cast<float>(static_cast<int>(q) - 32);
      }
    }
  }
}

}  // namespace attend::checkpoint
