#include "io/utf8.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace attend::io {
namespace {

// How many bytes at the start of a text, which is not empty, are a character, or as much of one as is there.
struct Beginning {
  std::size_t size;
  bool whole;
};

Beginning first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {1, false};
  const auto size = static_cast<std::size_t>(utf8_size(first));
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {i, false};
    // The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF.
    const unsigned char low = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < low || byte(i) > high) return {i, false};
  }
  return {size, true};
}

// How many bytes at the start of a text are ASCII, eight at a time.
std::size_t ascii_length(std::string_view text) noexcept {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; text.size() - at >= sizeof eight; at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    eight &= 0x8080808080808080;
    if (eight == 0) continue;
    if constexpr (std::endian::native == std::endian::big) break;
    return at + static_cast<std::size_t>(std::countr_zero(eight)) / 8;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const Beginning character = first_character(text);
  return character.whole ? character.size : 0;
}

std::size_t find_bad_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const auto follows = [&](std::size_t at) { return (byte(at) & 0xC0) == 0x80; };
  std::size_t place = 0;
  for (;;) {
    if (place < text.size() && byte(place) < 0x80) place += ascii_length(text.substr(place));
    const std::size_t left = text.size() - place;
    if (left == 0) return place;
    // Nearly all other text begins with bytes that any two, or one, may follow.
    if (byte(place) > 0xE0 && byte(place) < 0xED && left >= 3 && follows(place + 1) && follows(place + 2)) {
      place += 3;
    } else if (byte(place) >= 0xC2 && byte(place) < 0xE0 && left >= 2 && follows(place + 1)) {
      place += 2;
    } else if (const std::size_t length = utf8_length(text.substr(place)); length > 0) {
      place += length;
    } else {
      return place;
    }
  }
}

bool is_utf8(std::string_view text) noexcept { return find_bad_utf8(text) == text.size(); }

std::string repair_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + 16);
  while (!text.empty()) {
    const Beginning character = first_character(text);
    if (character.whole) {
      repaired.append(text.substr(0, character.size));
    } else {
      append_char(repaired, kReplacement);
    }
    text.remove_prefix(character.size);
  }
  return repaired;
}

std::size_t count_chars(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace attend::io
