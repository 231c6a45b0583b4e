#include "steps/steps_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "steps/check_lesson.h"
#include "steps/refuses_lesson.h"

namespace attend::steps {
namespace {

using Labels = std::vector<std::string>;

Lesson parse(std::string_view text) { return parse_lesson("v.json", text); }

// Uses every kind of value, in few bytes: the tests below damage it everywhere.
constexpr std::string_view kSmall =
    R"({"tokens": ["a", "\u00e9"], "x": [[1, -2.5], [3e1, 0]],
 "wq": [[1, 2], [3, 4]], "wk": [[1, 0], [0, 1]], "wv": [[1], [2]],
 "bq": [0, 1], "heads": 1, "causal": true, "scale": 0.5, "positions": "none"})";

// Parses or refuses; anything else fails the test. True when it parsed.
bool parses(std::string_view text) {
  try {
    check_lesson("v.json", parse(text));
    return true;
  } catch (const LessonError& error) {
    const std::string sentence = error.what();
    EXPECT_TRUE(sentence.starts_with("v.json: ")) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    return false;
  }
}

TEST(StepsFile, ReadsXAlone) {
  const Lesson lesson = parse(R"({"x": [[1, 2, 3], [4, 5, 6]]})");
  EXPECT_EQ(lesson.x->shape(), (Dims{2, 3}));
  EXPECT_EQ(lesson.x->values<double>()[5], 6.0);
  EXPECT_EQ(lesson.tokens, (Labels{"t1", "t2"}));
  EXPECT_EQ(lesson.key_tokens, lesson.tokens);
  EXPECT_FALSE(lesson.q || lesson.wq || lesson.wo || lesson.bq || lesson.scale || lesson.context);
  EXPECT_EQ(lesson.heads, 1);
  EXPECT_FALSE(lesson.causal);
  EXPECT_FALSE(lesson.sinusoidal_positions);
  EXPECT_EQ(lesson.title, "");
}

TEST(StepsFile, ReadsEveryKindOfValue) {
  const Lesson lesson = parse(kSmall);
  EXPECT_EQ(lesson.tokens, (Labels{"a", "é"}));
  EXPECT_EQ(lesson.x->values<double>()[1], -2.5);
  EXPECT_EQ(lesson.x->values<double>()[2], 30.0);
  EXPECT_EQ(lesson.wv->shape(), (Dims{2, 1}));
  EXPECT_EQ(lesson.bq->shape(), (Dims{2}));
  EXPECT_TRUE(lesson.causal);
  EXPECT_EQ(lesson.scale, 0.5);
  EXPECT_FALSE(lesson.sinusoidal_positions);
}

TEST(StepsFile, ReadsQueriesKeysAndValues) {
  const Lesson cross = parse(R"({"q": [[1, 2]], "k": [[1, 0], [0, 1]], "v": [[1, 2, 3, 4], [5, 6, 7, 8]],
                                 "heads": 2, "wo": [[1], [2], [3], [4]], "bo": [9]})");
  EXPECT_EQ(cross.tokens, (Labels{"t1"}));
  EXPECT_EQ(cross.key_tokens, (Labels{"k1", "k2"}));
  EXPECT_EQ(cross.heads, 2);
  EXPECT_EQ(cross.v->shape(), (Dims{2, 4}));
  EXPECT_EQ(cross.bo->values<double>()[0], 9.0);

  const Lesson self = parse(R"({"tokens": ["a"], "q": [[1]], "k": [[1]], "v": [[1]], "positions": "none"})");
  EXPECT_EQ(self.key_tokens, (Labels{"a"}));

  const Lesson named = parse(R"({"q": [[1]], "k": [[1]], "v": [[1]], "key_tokens": ["there"]})");
  EXPECT_EQ(named.tokens, (Labels{"t1"}));
  EXPECT_EQ(named.key_tokens, (Labels{"there"}));
}

TEST(StepsFile, ReadsCrossAttention) {
  const Lesson projected = parse(R"({"x": [[1, 2]], "context": [[1, 2, 3], [4, 5, 6]],
      "wq": [[1], [2]], "wk": [[1], [2], [3]], "wv": [[1, 1], [2, 2], [3, 3]], "bk": [0], "bv": [0, 0],
      "key_tokens": ["le", "chat"], "positions": "sinusoidal"})");
  EXPECT_EQ(projected.context->shape(), (Dims{2, 3}));
  EXPECT_EQ(projected.key_tokens, (Labels{"le", "chat"}));
  EXPECT_TRUE(projected.sinusoidal_positions);

  const Lesson plain = parse(R"({"x": [[1, 2]], "context": [[3, 4]], "tokens": ["a"]})");
  EXPECT_EQ(plain.key_tokens, (Labels{"k1"}));
}

TEST(StepsFile, ReadsNumbersOfEveryForm) {
  const Lesson lesson =
      parse(R"({"x": [[0, -0.0, 1e-400, 4.9e-324, 1.7976931348623157e308, 123456789012345678901234567890,
                       0.1, 1E+2]], "heads": 4.0, "scale": -1})");
  const auto values = lesson.x->values<double>();
  EXPECT_TRUE(std::signbit(values[1]));
  EXPECT_EQ(values[2], 0.0);
  EXPECT_EQ(values[3], 4.9e-324);
  EXPECT_EQ(values[4], 1.7976931348623157e308);
  EXPECT_EQ(values[5], 123456789012345678901234567890.0);
  EXPECT_EQ(values[6], 0.1);
  EXPECT_EQ(values[7], 100.0);
  EXPECT_EQ(lesson.heads, 4);
  EXPECT_EQ(lesson.scale, -1.0);
}

TEST(StepsFile, AcceptsWhatEditorsAdd) {
  EXPECT_EQ(parse("\xEF\xBB\xBF{\"x\": [[1]]}\r\n\r\n").x->size(0), 1);
  EXPECT_EQ(parse("\n\t {\r\n\"x\"\t:\n[[1\n]\r]}").x->size(0), 1);
  EXPECT_EQ(parse("{\"\\u0078\": [[1]]}").x->size(0), 1);  // a key may be escaped
}

TEST(StepsFile, KeepsLabelsAsTheyAre) {
  const Lesson lesson = parse(R"({"x": [[1], [2]], "tokens": ["", "\"\\\/\b\n\ud83d\ude00\u0000"]})");
  EXPECT_EQ(lesson.tokens, (Labels{"", std::string("\"\\/\b\n😀\0", 10)}));
}

TEST(StepsFile, RefusesItsEveryBeginning) {
  ASSERT_TRUE(parses(kSmall));
  for (std::size_t length = 0; length < kSmall.size(); ++length) {
    // A copy of exactly this length, so that reading past it is seen by the address sanitizer.
    const std::vector<char> beginning(kSmall.begin(), kSmall.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(parses({beginning.data(), length})) << length;
  }
}

TEST(StepsFile, EndingEarlyIsSaidAtTheEnd) {
  EXPECT_REFUSES_LESSON(parse(kSmall.substr(0, kSmall.size() - 1)), LessonCause::not_json,
                        "v.json: line 3, column 77: expected a comma or }, found the end of the text");
}

TEST(StepsFile, SurvivesEveryFlippedBit) {
  int accepted = 0;
  for (std::size_t bit = 0; bit < kSmall.size() * 8; ++bit) {
    std::string damaged(kSmall);
    damaged[bit / 8] = static_cast<char>(static_cast<unsigned char>(damaged[bit / 8]) ^ (1u << (bit % 8)));
    accepted += parses(damaged) ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);  // one digit for another is still a lesson
}

TEST(StepsFile, SurvivesEveryMissingAndDoubledByte) {
  for (std::size_t i = 0; i < kSmall.size(); ++i) {
    std::string shorter(kSmall), longer(kSmall);
    parses(shorter.erase(i, 1));
    parses(longer.insert(i, 1, kSmall[i]));
  }
}

TEST(StepsFile, DeepNestingIsOnlyAWrongType) {
  for (const std::string_view opening : {"[", "{\"x\":"}) {
    std::string text = "{\"x\": ";
    for (int depth = 0; depth < 1'000'000; ++depth) text += opening;
    EXPECT_FALSE(parses(text));
  }
}

TEST(StepsFile, ManyTokensAreRefusedBeforeTheyTakeMemory) {
  std::string rows = "[1]", labels = "\"\"";
  for (int i = 0; i < 1 << 20; ++i) {
    rows += ",[1]";
    labels += ",\"\"";
  }
  EXPECT_REFUSES_LESSON(parse("{\"x\": [" + rows + "]}"), LessonCause::too_large,
                        "x has more than 1048576 rows");
  EXPECT_REFUSES_LESSON(parse("{\"tokens\": [" + labels + "]}"), LessonCause::too_large,
                        "tokens has more than 1048576 labels");
}

TEST(StepsFile, RefusesATextThatIsTooLarge) {
  const std::string spaces(kMaxLessonBytes + 1, ' ');
  EXPECT_REFUSES_LESSON(parse(spaces), LessonCause::too_large, "v.json: is larger than 256 MiB");
}

}  // namespace
}  // namespace attend::steps
