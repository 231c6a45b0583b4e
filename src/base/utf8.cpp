#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace attend {

std::size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](std::size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return follows(1, 0x80, 0xBF) ? 2 : 0;
  if (first < 0xF0) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const unsigned low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
  return follows(1, low, high) && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
}

std::size_t find_bad_utf8(std::string_view text) noexcept {
  std::size_t place = 0;
  while (place < text.size()) {
    std::uint64_t eight = 0;
    if (text.size() - place >= sizeof eight) {  // nearly all of it is ASCII
      std::memcpy(&eight, text.data() + place, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        place += sizeof eight;
        continue;
      }
    }
    const std::size_t length = utf8_length(text.substr(place));
    if (length == 0) return place;
    place += length;
  }
  return place;
}

}  // namespace attend
