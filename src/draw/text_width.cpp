#include "draw/text_width.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

namespace attend::draw {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";
constexpr std::string_view kNoPicture = "\u2426";
constexpr std::string_view kLeftToRightMark = "\u200E";

constexpr std::int32_t kZeroWidthNonJoiner = 0x200C;
constexpr std::int32_t kZeroWidthJoiner = 0x200D;
constexpr std::int32_t kEmojiPresentation =
    0xFE0F;  // asks for the picture, not the text form, of what it follows

struct CodePoint {
  std::int32_t value = -1;  // -1: not UTF-8
  std::string_view bytes;
};

CodePoint first_of(std::string_view text) {
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
    const CodePoint point = first_of(text);
    text.remove_prefix(point.bytes.size());
    visit(point);
  }
}

bool is_right_to_left(std::int32_t point) {
  const auto direction = utf8proc_get_property(point)->bidi_class;
  return direction == UTF8PROC_BIDI_CLASS_R || direction == UTF8PROC_BIDI_CLASS_AL ||
         direction == UTF8PROC_BIDI_CLASS_AN;
}

// Text as it is, or with a mark at its end that stops right-to-left order from spreading to what follows.
std::string with_direction_closed(std::string text) {
  bool closed = true;
  for_each_code_point(text, [&](const CodePoint& point) {
    if (point.bytes == kLeftToRightMark) {
      closed = true;
    } else if (point.value >= 0 && is_right_to_left(point.value)) {
      closed = false;
    }
  });
  if (!closed) text += kLeftToRightMark;
  return text;
}

// The characters that show nothing and only tell a renderer what to do. The two joiners shape letters and
// emoji and stay; so do the Arabic number signs, the ones of this category that are drawn.
bool is_invisible_format(std::int32_t point) {
  return utf8proc_category(point) == UTF8PROC_CATEGORY_CF && point != kZeroWidthJoiner &&
         point != kZeroWidthNonJoiner && utf8proc_get_property(point)->bidi_class != UTF8PROC_BIDI_CLASS_AN;
}

// Numbers that Unicode promises never to make a character: XML has no place for them, nor has PDF.
bool is_noncharacter(std::int32_t point) {
  return (point & 0xFFFE) == 0xFFFE || (point >= 0xFDD0 && point <= 0xFDEF);
}

bool is_mark_of_ours(const CodePoint& point) { return point.bytes == kLeftToRightMark; }

bool is_emoji_modifier(std::int32_t point) { return point >= 0x1F3FB && point <= 0x1F3FF; }

int width_of(std::int32_t point) {
  if (point < 0) return 1;
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_CN:  // newer than the library's tables: the blocks of emoji and of CJK are wide
                                // throughout
      return (point >= 0x1F000 && point <= 0x1FAFF) || (point >= 0x20000 && point <= 0x3FFFF) ? 2 : 1;
    case UTF8PROC_CATEGORY_CO:
      return 1;
    default:
      return utf8proc_charwidth(point);
  }
}

// A cluster is as wide as its parts, except that an emoji built of several is one picture.
int cluster_width(std::string_view cluster) {
  int width = 0;
  bool picture = false;
  bool first = true;
  for_each_code_point(cluster, [&](const CodePoint& point) {
    width += width_of(point.value);
    picture |= !first && (point.value == kEmojiPresentation || is_emoji_modifier(point.value));
    picture |= point.value == kZeroWidthJoiner && width >= 2;
    first = false;
  });
  return picture ? 2 : width;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  const bool ends_in_our_mark = text.ends_with(kLeftToRightMark);
  if (ends_in_our_mark) text.remove_suffix(kLeftToRightMark.size());
  for_each_code_point(text, [&](const CodePoint& point) {
    if (point.value < 0 || is_noncharacter(point.value)) {
      shown += kReplacement;
    } else if (point.value < 0x20 || point.value == 0x7F) {
      const int picture = point.value == 0x7F ? 0x21 : point.value;  // U+2400 + n; none is past U+243F
      shown += {'\xE2', '\x90', static_cast<char>(0x80 + picture)};
    } else if (const auto category = utf8proc_category(point.value);
               category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZL ||
               category == UTF8PROC_CATEGORY_ZP || is_invisible_format(point.value)) {
      shown += kNoPicture;
    } else {
      shown += point.bytes;
    }
  });
  return with_direction_closed(std::move(shown));
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> clusters;
  std::int32_t previous = -1;
  utf8proc_int32_t state = 0;
  for_each_code_point(text, [&](const CodePoint& point) {
    const bool joins =
        !clusters.empty() && previous >= 0 && point.value >= 0 &&
        (is_mark_of_ours(point) || !utf8proc_grapheme_break_stateful(previous, point.value, &state));
    if (joins) {
      clusters.back() = {clusters.back().data(), clusters.back().size() + point.bytes.size()};
    } else {
      clusters.push_back(point.bytes);
    }
    previous = point.value;
  });
  return clusters;
}

int text_width(std::string_view text) {
  int width = 0;
  for (const std::string_view cluster : characters(text)) width += cluster_width(cluster);
  return width;
}

std::string repeat(std::string_view text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

std::string indent(std::string_view lines, int columns) {
  std::string moved;
  bool at_start = true;
  for (const char byte : lines) {
    if (at_start && byte != '\n') moved += repeat(" ", columns);
    moved += byte;
    at_start = byte == '\n';
  }
  return moved;
}

std::string pad_left(std::string_view text, int width) {
  return repeat(" ", width - text_width(text)).append(text);
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) + repeat(" ", width - text_width(text));
}

std::string pad_both(std::string_view text, int width) {
  const int left = std::max(0, width - text_width(text)) / 2;
  return pad_right(repeat(" ", left).append(text), width);
}

std::string shorten(std::string_view text, int width) {
  if (text_width(text) <= width) return std::string(text);
  if (width <= 0) return {};
  std::string cut;
  int used = 1;  // the ellipsis
  for (const std::string_view cluster : characters(text)) {
    used += cluster_width(cluster);
    if (used > width) break;
    cut += cluster;
  }
  return with_direction_closed(std::move(cut) + std::string(kEllipsis));
}

}  // namespace attend::draw
