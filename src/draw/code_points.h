// Text as a sequence of code points.
#pragma once

#include <utf8proc.h>

#include <cstdint>
#include <string_view>

namespace attend::draw {

struct CodePoint {
  std::int32_t value = -1;  // -1: not UTF-8
  std::string_view bytes;
};

// The text must not be empty. A byte that does not begin a character is returned by itself.
inline CodePoint first_code_point(std::string_view text) {
  CodePoint point;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &point.value);
  if (length <= 0) return {-1, text.substr(0, 1)};
  point.bytes = text.substr(0, static_cast<std::size_t>(length));
  return point;
}

template <class Visit>
void for_each_code_point(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    text.remove_prefix(point.bytes.size());
    visit(point);
  }
}

inline bool is_right_to_left(std::int32_t point) {
  const auto direction = utf8proc_get_property(point)->bidi_class;
  return direction == UTF8PROC_BIDI_CLASS_R || direction == UTF8PROC_BIDI_CLASS_AL ||
         direction == UTF8PROC_BIDI_CLASS_AN;
}

// Ends right-to-left order; it has no width.
inline constexpr std::string_view kLeftToRightMark = "\u200E";
// Joins two emoji into one, and shapes letters.
inline constexpr std::int32_t kZeroWidthJoiner = 0x200D;

}  // namespace attend::draw
