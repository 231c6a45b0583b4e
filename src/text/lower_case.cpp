#include "text/lower_case.h"

#include <utf8proc.h>

#include <algorithm>

#include "io/utf8.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// Unicode's Case_Ignorable: marks, modifiers, formatting, and the punctuation that stands within words.
bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      break;
  }
  switch (c) {
    case 0x27:
    case 0x2E:
    case 0x3A:
    case 0xB7:
    case 0x387:
    case 0x55F:
    case 0x5F4:
    case 0x2018:
    case 0x2019:
    case 0x2024:
    case 0x2027:
    case 0xFE13:
    case 0xFE52:
    case 0xFE55:
    case 0xFF07:
    case 0xFF0E:
    case 0xFF1A:
      return true;
    default:
      return false;
  }
}

// Unicode's Cased, of characters that are not ignorable: letters with a case, the ordinal signs, Roman
// numerals, letters in circles and squares.
bool is_cased(char32_t c) {
  const auto kind = category(c);
  if (kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT)
    return true;
  return c == 0xAA || c == 0xBA || (c >= 0x2160 && c <= 0x217F) || (c >= 0x24B6 && c <= 0x24E9) ||
         (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

// The sigma from byte `begin` to `end` ends a word: a letter stands before it and none after it, whatever
// ignorable characters lie between. No two sigmas look at the same stretch in the same direction, so a text
// of any length takes linear time.
bool ends_a_word(std::string_view text, std::size_t begin, std::size_t end) {
  bool letter_before = false;
  while (begin > 0) {
    const char32_t c = io::previous_char(text, begin);
    if (is_case_ignorable(c)) continue;
    letter_before = is_cased(c);
    break;
  }
  if (!letter_before) return false;
  while (end < text.size()) {
    const char32_t c = io::next_char(text, end);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

}  // namespace

LowerCase::LowerCase(std::string_view text) {
  text_.reserve(text.size());
  std::int32_t place = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = io::next_char(text, at);
    char32_t lower[2];
    int count = 1;
    if (c == kCapitalSigma) {
      lower[0] = ends_a_word(text, begin, at) ? kFinalSigma : kSigma;
    } else {
      count = lower_case(c, lower);
    }
    for (int i = 0; i < count; ++i) {
      if (i > 0) second_.push_back(place);
      io::append_char(text_, lower[i]);
      ++place;
    }
  }
}

std::int32_t LowerCase::given(std::int32_t place) const {
  const auto after = std::upper_bound(second_.begin(), second_.end(), place);
  return place - static_cast<std::int32_t>(after - second_.begin());
}

TextSpan LowerCase::given(TextSpan span) const {
  if (second_.empty()) return span;
  const std::int32_t begin = given(span.begin);
  return {begin, span.end > span.begin ? given(span.end - 1) + 1 : begin};
}

}  // namespace attend::text
