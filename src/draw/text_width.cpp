#include "draw/text_width.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

#include "draw/code_points.h"

namespace attend::draw {
namespace {

constexpr std::int32_t kEmojiPresentation =
    0xFE0F;  // selects the emoji form of the preceding character, not the text form

// The text, with a mark at its end where needed to keep right-to-left order from spreading to what follows.
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

// A cluster is as wide as its parts, except that an emoji made of several is one picture.
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
