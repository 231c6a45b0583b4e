// UTF-8: whether bytes are, and their characters. What reads characters wants valid text: is_utf8() or
// repair_utf8() comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attend::io {

inline constexpr char32_t kReplacement = 0xFFFD;

// How many bytes the character has that starts with this byte.
inline int utf8_size(unsigned char first) {
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}
inline int utf8_size(char first) { return utf8_size(static_cast<unsigned char>(first)); }

// The character at `position`, which is moved past it.
inline char32_t next_char(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[position + i]); };
  const unsigned char first = byte(0);
  char32_t c = first;
  switch (utf8_size(first)) {
    case 1:
      position += 1;
      return c;
    case 2:
      c = (first & 0x1Fu) << 6 | (byte(1) & 0x3Fu);
      position += 2;
      return c;
    case 3:
      c = (first & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
      position += 3;
      return c;
    default:
      c = (first & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
      position += 4;
      return c;
  }
}

// The last character that ends at `position`, which is moved to its start.
inline char32_t previous_char(std::string_view text, std::size_t& position) {
  do --position;
  while ((static_cast<unsigned char>(text[position]) & 0xC0) == 0x80);
  std::size_t start = position;
  return next_char(text, start);
}

// How many bytes a character takes.
inline std::size_t char_size(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

// Writes the bytes of a character and returns how many there are.
inline int put_char(char32_t c, char* bytes) {
  const auto low = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (c < 0x80) {
    bytes[0] = static_cast<char>(c);
    return 1;
  }
  if (c < 0x800) {
    bytes[0] = static_cast<char>(0xC0 | c >> 6);
    bytes[1] = low(c);
    return 2;
  }
  if (c < 0x10000) {
    bytes[0] = static_cast<char>(0xE0 | c >> 12);
    bytes[1] = low(c >> 6);
    bytes[2] = low(c);
    return 3;
  }
  bytes[0] = static_cast<char>(0xF0 | c >> 18);
  bytes[1] = low(c >> 12);
  bytes[2] = low(c >> 6);
  bytes[3] = low(c);
  return 4;
}

inline void append_char(std::string& text, char32_t c) {
  char bytes[4];
  text.append(bytes, static_cast<std::size_t>(put_char(c, bytes)));
}

// Bytes of the character that the text begins with; 0 when it begins with none: overlong forms, surrogates
// and what lies beyond U+10FFFF are not characters.
std::size_t utf8_length(std::string_view text) noexcept;

// Where the first byte that is not UTF-8 stands, or the size of the text.
std::size_t find_bad_utf8(std::string_view text) noexcept;

bool is_utf8(std::string_view text) noexcept;

// The same text with U+FFFD for every stretch that is not UTF-8: the longest start of a character that is cut
// off counts as one, as in Python's errors="replace", in Rust and in the Unicode standard (its section 3.9).
std::string repair_utf8(std::string_view text);

std::size_t count_chars(std::string_view text);

}  // namespace attend::io
