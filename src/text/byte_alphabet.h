// The byte-level alphabet: every byte as a printable character. Bytes that are printable in Latin-1 stand for
// themselves, the others for U+0100, U+0101, ... in their order.
#pragma once

#include <array>
#include <cstdint>

namespace attend::text {

struct ByteAlphabet {
  std::array<char32_t, 256> character{};
  std::array<std::int16_t, 0x144> byte{};  // of a character; -1: none

  constexpr ByteAlphabet() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      const char32_t c = printable ? static_cast<char32_t>(b) : next++;
      character[static_cast<std::size_t>(b)] = c;
      byte[c] = static_cast<std::int16_t>(b);
    }
  }
};

inline constexpr ByteAlphabet kByteAlphabet;
inline constexpr char32_t kByteSpace = 0x120;  // U+0120, what a space becomes

}  // namespace attend::text
