// Unicode's normal forms: what they must satisfy whatever the text, and where spans go.
#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <random>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace {

using namespace attend::text;

std::string normalized(const std::string& text, bool compatible, bool composed) {
  AlignedText aligned, scratch;
  aligned.assign(text);
  Allowance allowance(text.size());
  make_normal_form(compatible, composed)->apply(aligned, scratch, allowance);
  EXPECT_EQ(aligned.bytes.size(), aligned.spans.size());
  return aligned.bytes;
}

std::string expected(const std::string& text, bool compatible, bool composed) {
  const int options = UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                      (compatible ? UTF8PROC_COMPAT : 0);
  utf8proc_uint8_t* result = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &result,
                                 static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(size)};
}

// Characters that Unicode had in version 9: newer ones are left alone on purpose (unicode_differences.h).
char32_t draw(std::mt19937& random) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x41, 0x7A},     {0xC0, 0x17F},    {0x300, 0x34E},   {0x1100, 0x1112},  {0x1161, 0x1175},
      {0x11A8, 0x11C2}, {0xAC00, 0xD7A3}, {0x1E00, 0x1EFF}, {0x5D0, 0x5EA},    {0x591, 0x5C7},
      {0x3041, 0x3096}, {0x3099, 0x309A}, {0xFB00, 0xFB06}, {0x2F800, 0x2FA1D}};
  const auto [first, last] = kBlocks[random() % std::size(kBlocks)];
  return first + static_cast<char32_t>(random() % (last - first + 1));
}

TEST(NormalForm, AgreesWithUtf8proc) {
  std::mt19937 random(13);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t size = random() % 8; size > 0; --size) attend::io::append_char(text, draw(random));
    for (const bool compatible : {false, true}) {
      for (const bool composed : {false, true}) {
        ASSERT_EQ(normalized(text, compatible, composed), expected(text, compatible, composed)) << text;
      }
    }
  }
}

TEST(NormalForm, SpansFollowTheCharacters) {
  AlignedText text, scratch;
  text.assign("e\u0301x\uFB01");  // e, acute, x, ligature fi
  Allowance allowance(text.size());
  make_normal_form(true, true)->apply(text, scratch, allowance);
  EXPECT_EQ(text.bytes, "\u00e9xfi");
  const std::vector<attend::TextSpan> spans{{0, 1}, {0, 1}, {2, 3}, {3, 4}, {3, 4}};
  EXPECT_EQ(text.spans, spans);
}

TEST(Unicode, FlagsAreThoseOfTokenizers) {
  EXPECT_TRUE(is(0x166D, kPunctuation));   // a symbol since Unicode 12
  EXPECT_FALSE(is(0x2E4F, kPunctuation));  // newer than the table there
  EXPECT_TRUE(is(U'$', kPunctuation));
  EXPECT_FALSE(is(0x20AC, kPunctuation));
  EXPECT_TRUE(is(0, kControl) && is(0xFFFD, kControl) && is(0xAD, kControl) && !is(U'\t', kControl));
  EXPECT_FALSE(is(0x8E2, kControl));
  EXPECT_TRUE(is(0x10D50, kLetter));  // newer than utf8proc's
  std::int32_t state = 0;
  EXPECT_FALSE(grapheme_break(U'a', 0x897, state));  // a mark since Unicode 16
  state = 0;
  EXPECT_TRUE(grapheme_break(0xE0015, 0x301, state));  // unassigned, and ends a grapheme
  state = 0;
  EXPECT_FALSE(grapheme_break(U'\r', U'\n', state));
  char32_t lower[2];
  EXPECT_EQ(lower_case(0x130, lower), 2);
  EXPECT_EQ(lower_case(0xA7DC, lower), 1);
  EXPECT_EQ(lower[0], char32_t{0x19B});
}

}  // namespace
