// Finding NaN and infinity among 16-bit numbers, two at a time, and putting zeros in their place.
#pragma once

#include <cstdint>

#include "cuda/visibility.h"

namespace attend::cuda {

// The exponent bits of both halves of a word. A half is strange when all of its are set; adding the lowest of
// them then carries into the bit of the sign, and never beyond it.
struct ExponentBits {
  std::uint32_t all, lowest;
};
inline constexpr ExponentBits kBf16Exponents{0x7F807F80u, 0x00800080u},
    kF16Exponents{0x7C007C00u, 0x04000400u};

ATTEND_BOTH constexpr std::uint32_t strange_halves(std::uint32_t word, ExponentBits bits) {
  return ((word & bits.all) + bits.lowest) & 0x80008000u;
}
ATTEND_BOTH constexpr std::uint32_t without_strange(std::uint32_t word, ExponentBits bits) {
  return word & ~((strange_halves(word, bits) >> 15) * 0xFFFFu);
}

}  // namespace attend::cuda
