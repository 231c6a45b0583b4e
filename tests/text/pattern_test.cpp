// The expression of GPT-2 in code against PCRE2, and how expressions are translated.
#include "text/pattern.h"

#include <gtest/gtest.h>

#include <random>

#include "io/utf8.h"
#include "support/sanitized.h"

namespace {

using namespace attend::text;

std::vector<std::pair<std::size_t, std::size_t>> matches(const Pattern& pattern, std::string_view text) {
  std::vector<Match> found;
  Allowance allowance(text.size());
  pattern.find(text, 0, text.size(), found, allowance);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const Match& match : found) pairs.emplace_back(match.begin, match.end);
  return pairs;
}

std::unique_ptr<const Pattern> compiled(std::string_view expression) {
  static const attend::io::JsonDocument empty("pattern_test", "{}");
  return compile_pattern(empty.root(), expression);
}

TEST(Pattern, Gpt2IsTheExpression) {
  const auto expression =
      compiled(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  std::mt19937 random(11);
  const char32_t letters[] = {U'a',  U's',  U't',   U'\'',  U'r',   U'e',    U'1',   U' ',
                              U' ',  U'\t', U'\n',  U'.',   U'l',   0x85,    0xA0,   0xE9,
                              0x301, 0x661, 0x2028, 0x4E2D, 0x180E, 0x1F600, 0x10D50};
  for (int i = 0; i < (attend::kSanitized ? 2'000 : 50'000); ++i) {
    std::string text;
    for (std::size_t size = random() % 12; size > 0; --size)
      attend::io::append_char(text, letters[random() % std::size(letters)]);
    ASSERT_EQ(matches(gpt2_pattern(), text), matches(*expression, text)) << text;
  }
}

TEST(Pattern, EscapesMeanWhatOnigurumaMeans) {
  EXPECT_EQ(matches(*compiled(R"(\s)"), "a\u180eb\u0085").size(), 1u);  // U+180E is no longer white space
  EXPECT_EQ(matches(*compiled(R"([\s\d]+)"), "a 1\u00a0b").size(), 1u);
  EXPECT_EQ(matches(*compiled(R"(\w+)"), "e\u0301_\u00b2").size(),
            1u);  // marks and superscripts are of a word
  EXPECT_EQ(matches(*compiled(R"(\S+)"), "ab c").size(), 2u);
  EXPECT_EQ(matches(*compiled(R"(\P{L})"), "a1b2").size(), 2u);
  EXPECT_EQ(matches(*compiled(R"([^\p{Lu}])"), "aB\U00010d50").size(), 1u);  // a capital since Unicode 16
  EXPECT_EQ(matches(*compiled(R"(^b)"), "a\nb").size(), 1u);
  EXPECT_EQ(matches(*compiled(R"(x*)"), "axb"),
            (std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {1, 2}, {3, 3}}));
}

}  // namespace
