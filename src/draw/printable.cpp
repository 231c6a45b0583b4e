#include "draw/printable.h"

#include <utf8proc.h>

#include <cstddef>

#include "draw/code_points.h"

namespace attend::draw {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";
constexpr std::string_view kNoPicture = "\u2426";
constexpr std::string_view kDottedCircle = "\u25CC";

constexpr std::int32_t kNothing = -1;
constexpr std::int32_t kZeroWidthNonJoiner = 0x200C;
constexpr std::int32_t kLastCodePoint = 0x10FFFF;
constexpr int kMostMarksOnLetter = 10;  // on one letter: Tibetan stacks have seven

bool is_between(std::int32_t point, std::int32_t first, std::int32_t last) {
  return point >= first && point <= last;
}

// Code points that Unicode guarantees never to assign: neither XML nor PDF allows them.
bool is_noncharacter(std::int32_t point) {
  return (point & 0xFFFE) == 0xFFFE || is_between(point, 0xFDD0, 0xFDEF);
}

bool is_mark(std::int32_t point) {
  const auto category = utf8proc_category(point);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

bool is_letter_or_mark(std::int32_t point) {
  const auto category = utf8proc_category(point);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) || is_mark(point) ||
         category == UTF8PROC_CATEGORY_MC;
}

bool is_emoji(std::int32_t point) {
  if (point < 0) return false;
  return utf8proc_get_property(point)->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC ||
         (is_between(point, 0x1F000, 0x1FAFF) && utf8proc_category(point) == UTF8PROC_CATEGORY_CN);
}

// Letters whose shape a joiner changes: Arabic to Myanmar, Khmer and Mongolian, and the Arabic presentation
// forms.
bool is_joining_letter(std::int32_t point) {
  const bool in_script = is_between(point, 0x0600, 0x109F) || is_between(point, 0x1780, 0x18AF) ||
                         is_between(point, 0xA8E0, 0xA8FF) || is_between(point, 0xFB50, 0xFDFF) ||
                         is_between(point, 0xFE70, 0xFEFC);
  return in_script && is_letter_or_mark(point);
}

bool is_ideograph(std::int32_t point) {
  return is_between(point, 0x3400, 0x9FFF) || is_between(point, 0xF900, 0xFAFF) ||
         is_between(point, 0x20000, 0x3FFFF);
}

bool is_variation_selector(std::int32_t point) {
  return is_between(point, 0xFE00, 0xFE0F) || is_between(point, 0xE0100, 0xE01EF) ||
         is_between(point, 0x180B, 0x180D) || point == 0x180F;
}

// Whether the selector asks for a variant that the character before it may have.
bool selects_variant(std::int32_t selector, std::int32_t before) {
  if (before < 0) return false;
  if (selector == 0xFE0E || selector == 0xFE0F)  // text or emoji presentation
    return is_emoji(before) || is_between(before, '0', '9') || before == '#' || before == '*';
  if (is_between(selector, 0x180B, 0x180F))
    return is_between(before, 0x1800, 0x18AF) && is_letter_or_mark(before);
  return is_ideograph(before) || utf8proc_category(before) == UTF8PROC_CATEGORY_SM;
}

// Characters that are invisible and only instruct a renderer. The Arabic number signs share their category,
// but are drawn.
bool is_invisible(std::int32_t point) {
  const auto* const property = utf8proc_get_property(point);
  const auto category = utf8proc_category(point);
  if (category == UTF8PROC_CATEGORY_CF) return property->bidi_class != UTF8PROC_BIDI_CLASS_AN;
  // Reserved for such characters, and not in the library's tables.
  const bool reserved =
      point == 0x2065 || is_between(point, 0xFFF0, 0xFFF8) || is_between(point, 0xE0000, 0xE0FFF);
  return property->ignorable || reserved || category == UTF8PROC_CATEGORY_CC ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

// The length of the style (see style.h) at the start of the text: ESC [ digits and semicolons m. 0: there is
// none.
std::size_t style_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

class Gate {
 public:
  explicit Gate(Allow allow) : allow_(allow) {}

  std::string pass(std::string_view text) && {
    shown_.reserve(text.size());
    while (!text.empty()) {
      const std::size_t style = allow_ == Allow::styles ? style_length(text) : 0;
      if (style > 0) {
        shown_ += text.substr(0, style);
        text.remove_prefix(style);
        continue;
      }
      const CodePoint point = first_code_point(text);
      text.remove_prefix(point.bytes.size());
      add(point, text);
    }
    close_direction();
    return std::move(shown_);
  }

 private:
  void add(const CodePoint& point, std::string_view rest) {
    const std::int32_t value = point.value;
    if (value < 0 || is_noncharacter(value)) return put(kReplacement);
    if (value == '\n' && allow_ != Allow::words) return end_line();
    if (value == '\t' && allow_ != Allow::words) return put(point.bytes, value);
    if (value < 0x20 || value == 0x7F) return put_picture(value);
    if (value < 0x7F) return put(point.bytes, value);
    if (is_variation_selector(value)) {
      if (!selects_variant(value, before_)) return put(kNoPicture);
      shown_ += point.bytes;
      before_ = kNothing;  // one selector is enough, a second means nothing; the letter is still what marks
                           // combine with
      return;
    }
    if (value == kZeroWidthJoiner || value == kZeroWidthNonJoiner) return add_joiner(point, rest);
    if (point.bytes == kLeftToRightMark && right_to_left_) return close_direction();
    if (is_invisible(value)) return put(kNoPicture);
    if (is_mark(value)) return add_mark(point);
    right_to_left_ = right_to_left_ || is_right_to_left(value);
    const bool tone = is_between(value, 0x1F3FB, 0x1F3FF) && is_emoji(letter_);
    put(point.bytes, value);
    if (tone) letter_ = kTonedEmoji;
  }

  // Between two letters, or two emoji, that it joins or separates.
  void add_joiner(const CodePoint& point, std::string_view rest) {
    const std::int32_t next = rest.empty() ? kNothing : first_code_point(rest).value;
    const bool emoji =
        point.value == kZeroWidthJoiner && (is_emoji(letter_) || letter_ == kTonedEmoji) && is_emoji(next);
    const bool letters =
        letter_ != kNothing && next >= 0 && is_joining_letter(letter_) && is_joining_letter(next);
    if (!emoji && !letters) return put(kNoPicture);
    shown_ += point.bytes;
    letter_ = before_ = kNothing;
    joined_ = true;
  }

  void add_mark(const CodePoint& point) {
    if (letter_ == kNothing && !joined_) put(kDottedCircle, 0x25CC);
    if (++marks_ == kMostMarksOnLetter + 1) shown_ += kNoPicture;
    if (marks_ <= kMostMarksOnLetter) shown_ += point.bytes;
    right_to_left_ = right_to_left_ || is_right_to_left(point.value);
    before_ = kNothing;
  }

  void put_picture(std::int32_t control) {
    const int picture = control == 0x7F ? 0x21 : control;  // U+2400 + n; none is past U+243F
    const char bytes[] = {'\xE2', '\x90', static_cast<char>(0x80 + picture)};
    put({bytes, sizeof bytes}, 0x2400 + picture);
  }

  // Something visible, and what it is, as far as that matters to what follows.
  void put(std::string_view bytes, std::int32_t value = 0x2426) {
    shown_ += bytes;
    letter_ = before_ = value;
    marks_ = 0;
    joined_ = false;
  }

  void end_line() {
    close_direction();
    shown_ += '\n';
    letter_ = before_ = kNothing;
    marks_ = 0;
    joined_ = false;
  }

  void close_direction() {
    if (right_to_left_) shown_ += kLeftToRightMark;
    right_to_left_ = false;
  }

  static constexpr std::int32_t kTonedEmoji = kLastCodePoint + 1;

  Allow allow_;
  std::string shown_;
  std::int32_t letter_ = kNothing;  // the one that marks combine with and joiners join
  std::int32_t before_ = kNothing;  // the preceding character, unless it is a mark
  int marks_ = 0;                   // on the letter
  bool joined_ = false;             // the preceding character is a joiner
  bool right_to_left_ = false;      // since the last left-to-right mark
};

}  // namespace

std::string printable(std::string_view text, Allow allow) { return Gate(allow).pass(text); }

}  // namespace attend::draw
