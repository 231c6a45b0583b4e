#include "io/utf8.h"

#include <gtest/gtest.h>

namespace {

using namespace attend::io;

// Pairs from Python: bytes(given).decode(errors="replace").
TEST(Utf8, IsRepairedAsPythonDoes) {
  const std::string r = "\uFFFD";
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"a\u00e9\u4e2d\xF0\x9F\x91\x8D", "a\u00e9\u4e2d\xF0\x9F\x91\x8D"},
      {"a\x80z", "a" + r + "z"},
      {"\xC3", r},
      {"\xC3(", r + "("},
      {"\xE4\xB8", r},  // cut off: one for the longest start of a character
      {"\xE4\xB8x", r + "x"},
      {"\xF0\x9F\x91", r},
      {"\xF0\x9F\x91\xF0\x9F\x91\x8D", r + "\xF0\x9F\x91\x8D"},
      {"\xED\xA0\x80", r + r + r},  // a surrogate
      {"\xC0\xAF", r + r},          // overlong forms
      {"\xE0\x80\xAF", r + r + r},
      {"\xF0\x80\x80\xAF", r + r + r + r},
      {"\xF4\x90\x80\x80", r + r + r + r},  // beyond U+10FFFF
      {"\xF5\x80", r + r},
      {"\xFF\xFE", r + r},
      {std::string("\0x", 2), std::string("\0x", 2)},
  };
  for (const auto& [given, expected] : cases) {
    EXPECT_EQ(repair_utf8(given), expected) << testing::PrintToString(given);
    EXPECT_EQ(is_utf8(given), given == expected);
  }
}

TEST(Utf8, EveryCharacterThereAndBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "x";
    append_char(text, c);
    std::size_t position = 1;
    ASSERT_EQ(next_char(text, position), c);
    ASSERT_EQ(position, text.size());
    ASSERT_EQ(previous_char(text, position), c);
    ASSERT_EQ(position, 1u);
    ASSERT_EQ(count_chars(text), 2u);
  }
}

}  // namespace
