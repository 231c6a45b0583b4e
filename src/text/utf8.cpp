#include "text/utf8.h"

#include <simdjson.h>

#include <algorithm>

namespace attend::text {
namespace {

// How many bytes at the start of `text` are a character (whole = true), or the start of one that is cut off.
std::size_t character_at(std::string_view text, bool& whole) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  whole = first < 0x80;
  if (whole || first < 0xC2 || first > 0xF4) return 1;
  const std::size_t size = static_cast<std::size_t>(utf8_size(first));
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) return i;
    // The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF.
    const unsigned char low = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < low || byte(i) > high) return i;
  }
  whole = true;
  return size;
}

}  // namespace

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string repair_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + 16);
  while (!text.empty()) {
    bool whole = false;
    const std::size_t size = character_at(text, whole);
    if (whole) {
      repaired.append(text.substr(0, size));
    } else {
      append_char(repaired, kReplacement);
    }
    text.remove_prefix(size);
  }
  return repaired;
}

std::size_t count_chars(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace attend::text
