#include "text/lower_case.h"

#include <attend/tokenizer.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>

#include "io/utf8.h"
#include "support/cpu_time.h"

namespace attend::text {
namespace {

TEST(LowerCase, IsThatOfPython) {
  simdjson::dom::parser parser;
  std::size_t lines = 0;
  for (const auto line : parser.load_many(ATTEND_GOLDEN_TEXT "/lower_case.jsonl")) {
    const std::string_view given = line.at(0), expected = line.at(1);
    ASSERT_EQ(LowerCase(given).text(), expected) << given;
    ++lines;
  }
  EXPECT_GT(lines, 500u);
}

TEST(LowerCase, KnowsTheCharactersItCameFrom) {
  const LowerCase lower("aİbİİΣ");  // a i . b i . i . final sigma
  EXPECT_EQ(io::count_chars(lower.text()), 9u);
  const auto given = [&](std::int32_t begin, std::int32_t end) { return lower.given({begin, end}); };
  EXPECT_EQ(given(0, 1), (TextSpan{0, 1}));
  EXPECT_EQ(given(1, 2), (TextSpan{1, 2}));  // the i
  EXPECT_EQ(given(2, 3), (TextSpan{1, 2}));  // its dot
  EXPECT_EQ(given(1, 4), (TextSpan{1, 3}));
  EXPECT_EQ(given(4, 8), (TextSpan{3, 5}));
  EXPECT_EQ(given(8, 9), (TextSpan{5, 6}));
  EXPECT_EQ(given(0, 9), (TextSpan{0, 6}));
  EXPECT_EQ(given(0, 0), (TextSpan{0, 0}));
}

// A cased tokenizer: what it reads tells what became of the text.
constexpr std::string_view kCharacters =
    R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,
"post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,
"vocab":[["<unk>",0.0],["i",-2.0],["σ",-2.0],["ς",-2.0],["̇",-2.0],["A",-2.0],["a",-2.0]]}})";

TEST(LowerCase, OffsetsPointIntoTheTextThatWasGiven) {
  const Tokenizer tokenizer = Tokenizer::from_json(kCharacters);
  const Encoding plain = tokenizer.encode("AİΣ"), lower = tokenizer.encode("AİΣ", {.lower_case = true});
  EXPECT_EQ(plain.ids, (std::vector<std::int32_t>{5, 0}));
  EXPECT_EQ(lower.ids, (std::vector<std::int32_t>{6, 1, 4, 3}));
  EXPECT_EQ(lower.offsets, (std::vector<TextSpan>{{0, 1}, {1, 2}, {1, 2}, {2, 3}}));
  // Bytes that are not UTF-8 count as one U+FFFD each.
  const Encoding repaired = tokenizer.encode(
      "\xFF\xFF"
      "A",
      {.lower_case = true});
  EXPECT_EQ(repaired.offsets.back(), (TextSpan{2, 3}));
  EXPECT_EQ(repaired.ids.back(), 6);
  EXPECT_EQ(tokenizer.encode("", {.lower_case = true}).size(), 0u);
}

TEST(LowerCase, TakesLinearTime) {
  std::string text = "A";
  for (int i = 0; i < 200'000; ++i) text += "'";
  for (int i = 0; i < 200'000; ++i) text += "Σ'";
  const double start = cpu_seconds();
  EXPECT_TRUE(LowerCase(text).text().ends_with("ς'"));
  EXPECT_LT(cpu_seconds() - start, 2.0);
}

}  // namespace
}  // namespace attend::text
