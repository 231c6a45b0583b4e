// Regular expressions that Oniguruma and PCRE2 read differently: each finds what `tokenizers` finds
// (tools/golden/make_expressions.py), or is refused by name.
#include <attend/file_error.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <string>
#include <vector>

#include "io/utf8.h"
#include "text/pattern.h"

namespace attend::text {
namespace {

using simdjson::dom::element;

// What is not supported, and what the sentence says. Everything else that `tokenizers` takes is taken.
const std::map<std::string, std::string, std::less<>> kRefused = {
    {"a{3,1}", "{n,m} with n above m"},
    {"a{65536}", "repeats above 65535"},
    {"\\X", "\\X"},
    {"\\K", "\\K"},
    {"a\\Kb", "\\K"},
    {"\\G", "\\G"},
    {"\\y", "\\y"},
    {"\\N{U+41}", "\\N{"},
    {"\\i", "\\i"},
    {"\\j", "\\j"},
    {"\\l", "\\l"},
    {"\\m", "\\m"},
    {"\\q", "\\q"},
    {"\\L", "\\L"},
    {"\\U", "\\U"},
    {"\\Qa\\E", "\\Q"},
    {"\\cA", "\\c"},
    {"\\C-a", "\\C"},
    {"\\M-a", "\\M"},
    {"\\o{101}", "\\o"},
    {"\\x", "\\x without"},
    {"\\x{}", "\\x{...}"},
    {"\\x{d800}", "\\x{...}"},
    {"\\xe3\\x81\\x82", "\\x without"},
    {"\\ud800", "\\u without"},
    {"\\pL", "\\p without {}"},
    {"\\p{Cn}", "property \"Cn\""},
    {"\\p{Alpha}", "property \"Alpha\""},
    {"\\p{Any}", "property \"Any\""},
    {"\\p{Common}", "property \"Common\""},
    {"[\\R]", "\\R in a class"},
    {"[\\1]", "\\1 in a class"},
    {"[\\Q]", "\\Q in a class"},
    {"[a[b]-c]", "- after a class of a class"},
    {"[a&&]", "&&"},
    {"[&&a]", "&&"},
    {"[^&&a]", "&&"},
    {"[a&&^b]", "&&"},
    {"[]a]", "begins with ]"},
    {"[^]a]", "begins with ]"},
    {"[a-c-e]", "- after a range"},
    {"[--/]", "this - in a class"},
    {"[[:alpha:]]+", "[[:name:]]"},
    {"[[:^alpha:]]", "[[:name:]]"},
    {"(?i)ss", "stands for several"},
    {"(?i)ß", "stands for several"},
    {"(?i)[ß]", "case is ignored"},
    {"(?i)[\\p{Lu}]", "case is ignored"},
    {"(?i)[\\w]+", "case is ignored"},
    {"(?i)é", "stands for several"},
    {"(?i)µ", "stands for several"},
    {"(?i)s{2}", "stands for several"},
    {"(?i)s(?:s)", "stands for several"},
    {"(?i)(?:s)s", "stands for several"},
    {"(?i)f(?i)f", "stands for several"},
    {"(?i)st", "stands for several"},
    {"(?i)(?:as){2}", "stands for several"},
    {"(?i)(a)\\1", "reference \\1"},
    {"(?W)\\w", "the group \"(?W\""},
    {"(?y{g})a", "the group \"(?y\""},
    {"\\10", "reference \\1"},
    {"\\1(a)", "reference \\1"},
    {"(a\\1)", "reference \\1"},
    {"(?<n>a)\\k<n>", "\\k"},
    {"(a){0}(b)\\2", "a reference to a group beside"},
    {"(?'n'a)", "the group"},
    {"(?~ab)", "the group"},
    {"(?{a})", "the group"},
    {"(*FAIL)", "(*"},
    {"(?<=a+)b", "not fixed length"},
    {"(?<=(?:a|bb))a", "not fixed length"},
};

class Expressions : public testing::Test {
 protected:
  std::unique_ptr<const Pattern> compiled(std::string_view expression) {
    return compile_pattern(where_, expression);
  }

  static std::vector<Match> matches(const Pattern& pattern, std::string_view text) {
    std::vector<Match> found;
    Allowance allowance(text.size());
    pattern.find(text, 0, text.size(), found, allowance);
    return found;
  }

  static std::string replaced(const Pattern& pattern, std::string_view text) {
    std::string result;
    std::size_t copied = 0;
    for (const Match& match : matches(pattern, text)) {
      result.append(text.substr(copied, match.begin - copied)).append("‖");
      copied = match.end;
    }
    return result.append(text.substr(copied));
  }

  const io::JsonDocument empty_{"expressions_test", "{}"};
  const io::JsonValue where_ = empty_.root();
};

// All but the inside of large blocks, as the golden file has them.
std::string golden_characters() {
  constexpr std::pair<char32_t, char32_t> kLeftOut[] = {
      {0x3500, 0x4D00},   {0x4F00, 0x9F00},   {0xAD00, 0xD700},   {0xD800, 0xF800},
      {0x17100, 0x18700}, {0x20100, 0x2A600}, {0x2A800, 0x2EB00}, {0x2ED00, 0x31200},
      {0x31500, 0x32300}, {0x32500, 0xE0000}, {0xE0200, 0x110000}};
  std::string text;
  for (char32_t c = 0; c < 0x110000; ++c) {
    for (const auto& [first, last] : kLeftOut) {
      if (c >= first && c < last) c = last;
    }
    if (c < 0x110000) io::append_char(text, c);
  }
  return text;
}

// FNV-1a of the code points, four bytes each.
std::string digest_of(std::string_view text, const std::vector<Match>& matches, std::int64_t& count) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (const Match& match : matches) {
    for (std::size_t at = match.begin; at < match.end; ++count) {
      const char32_t c = io::next_char(text, at);
      for (int shift = 0; shift < 32; shift += 8) value = (value ^ (c >> shift & 0xFF)) * 0x100000001B3;
    }
  }
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(value));
  return hex;
}

TEST_F(Expressions, FindWhatOnigurumaFindsOrAreRefused) {
  simdjson::dom::parser parser;
  std::vector<std::string> texts;
  std::size_t compared = 0, refused = 0, characters = 0;
  const std::string every = golden_characters();
  for (auto document : parser.load_many(ATTEND_GOLDEN_TEXT "/expressions.jsonl")) {
    const element line = document.value();
    if (texts.empty()) {
      for (const auto text : line["texts"].get_array()) texts.emplace_back(std::string_view(text));
      ASSERT_EQ(static_cast<std::int64_t>(io::count_chars(every)), std::int64_t(line["characters"]));
      continue;
    }
    const std::string_view expression = line["regex"];
    SCOPED_TRACE(expression);
    try {
      const auto pattern = compiled(expression);
      EXPECT_FALSE(kRefused.contains(expression));
      if (!line["error"].error()) {
        ADD_FAILURE() << "tokenizers refuses it, and it was taken";
        continue;
      }
      if (element expected; !line["digest"].get(expected)) {
        std::int64_t count = 0;
        EXPECT_EQ(digest_of(every, matches(*pattern, every), count), std::string_view(expected));
        EXPECT_EQ(count, std::int64_t(line["characters"]));
        ++characters;
        continue;
      }
      std::size_t i = 0;
      for (const auto expected : line["replaced"].get_array()) {
        EXPECT_EQ(replaced(*pattern, texts[i]), std::string_view(expected)) << texts[i];
        ++i;
      }
      ++compared;
    } catch (const FileError& error) {
      ++refused;
      if (!line["error"].error()) continue;
      const auto known = kRefused.find(expression);
      const bool expected = known != kRefused.end() && error.rule().find(known->second) != std::string::npos;
      EXPECT_TRUE(expected) << error.what();
    }
  }
  EXPECT_GT(compared, 180u);
  EXPECT_GE(refused, kRefused.size());
  EXPECT_GT(characters, 80u);
}

// Nothing that PCRE2 alone understands may come through.
TEST_F(Expressions, OfPcre2AloneAreRefused) {
  for (const char* const expression : {"(?P<n>a)",
                                       "(?P=n)",
                                       "(?P>n)",
                                       "(?&n)",
                                       "(?R)",
                                       "(?1)",
                                       "(?+1)",
                                       "(?-1)",
                                       "(?|a|b)",
                                       "(?s)a",
                                       "(?n)a",
                                       "(?J)a",
                                       "(?U)a",
                                       "(?^)a",
                                       "(?i^)a",
                                       "(*UTF)a",
                                       "(*LIMIT_MATCH=9)a",
                                       "(*COMMIT)a",
                                       "(*:x)a",
                                       "(?C)a",
                                       "(?(?=a)a|b)",
                                       "\\C",
                                       "\\E",
                                       "\\Q",
                                       "\\g1",
                                       "\\g{1}",
                                       "\\N{U+41}",
                                       "\\p{Greek=x}",
                                       "\\p{sc:Han}",
                                       "\\p{scx:Han}",
                                       "\\p{L&}",
                                       "\\p{Xan}",
                                       "\\p{bidi_class:al}",
                                       "[[:<:]]"}) {
    EXPECT_THROW(compiled(expression), FileError) << expression;
  }
}

// Nested as deep as an expression of 10,000 bytes can be: refused, not a stack that overflows.
TEST_F(Expressions, NestedTooDeepAreRefused) {
  for (const std::string part : {"(", "(?:", "[", "[^", "(?i)", "(?=", "(?<=", "a|("}) {
    std::string expression;
    while (expression.size() + part.size() <= 10'000) expression += part;
    EXPECT_THROW(compiled(expression), FileError) << part;
  }
  EXPECT_THROW(compiled(std::string(10'001, 'a')), FileError);
  EXPECT_NO_THROW(compiled(std::string(10'000, 'a')));
}

}  // namespace
}  // namespace attend::text
