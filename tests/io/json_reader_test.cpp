#include "io/json_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/file_error.h"

namespace attend::io {
namespace {

// Reads a whole text with one action.
template <class Action>
auto read(std::string text, Action action) {
  JsonReader json("file", text);
  auto result = action(json);
  json.end();
  return result;
}

std::string string_of(const std::string& text) {
  return read(text, [](JsonReader& json) { return std::string(json.string("s")); });
}
std::int64_t integer_of(const std::string& text) {
  return read(text, [](JsonReader& json) { return json.integer("i"); });
}
double number_of(const std::string& text) {
  return read(text, [](JsonReader& json) { return json.number("n"); });
}
bool skips(const std::string& text) {
  return read(text, [](JsonReader& json) {
    json.skip("v");
    return true;
  });
}

TEST(JsonReader, ResolvesEscapes) {
  EXPECT_EQ(string_of(R"("")"), "");
  EXPECT_EQ(string_of(R"( "a\"\\\/\b\f\n\r\tz" )"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(string_of(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "A\u00e9\u20ac\U0001F600");
  EXPECT_EQ(string_of(R"("\u0000")"), std::string(1, '\0'));
  EXPECT_EQ(string_of("\"\u20ac\""), "\u20ac");
}

// Strings are read eight characters at a time: what ends a stretch stands at every place of eight.
TEST(JsonReader, FindsWhatEndsAStringAtEveryPlace) {
  for (std::size_t length = 0; length < 40; ++length) {
    const std::string plain = std::string(length, 'x') + "\u00e9\x7f";
    EXPECT_EQ(string_of("\"" + plain + "\""), plain);
    EXPECT_EQ(string_of("\"" + plain + "\\n" + plain + "\\\"\""), plain + "\n" + plain + "\"");
    EXPECT_THROW(string_of("\"" + plain + "\x1f\""), FileError);
    EXPECT_THROW(string_of("\"" + plain), FileError);
  }
}

TEST(JsonReader, KeepsWhatItHasReturned) {
  std::string text = R"({"\u0061":"\u0062","c":"d"})";
  JsonReader json("file", text);
  std::vector<std::string_view> seen;
  json.object("", [&](std::string_view key) {
    seen.push_back(key);
    seen.push_back(json.string(key));
  });
  EXPECT_EQ(seen, (std::vector<std::string_view>{"a", "b", "c", "d"}));
}

TEST(JsonReader, WholeNumbersToTheirLimits) {
  EXPECT_EQ(integer_of("0"), 0);
  EXPECT_EQ(integer_of("-0"), 0);
  EXPECT_EQ(integer_of("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(integer_of("-9223372036854775808"), INT64_MIN);
  EXPECT_FILE_ERROR(integer_of("9223372036854775808"), "i", "beyond 64-bit");
  EXPECT_FILE_ERROR(integer_of("1.0"), "i", "expected a whole number, found 1.0");
  EXPECT_FILE_ERROR(integer_of("1e2"), "i", "expected a whole number, found 1e2");
  EXPECT_FILE_ERROR(integer_of("\"1\""), "i", "expected a number, found a string");
}

TEST(JsonReader, NumbersAreJsonsAndFinite) {
  EXPECT_EQ(number_of("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(number_of("1E+2"), 100);
  EXPECT_FILE_ERROR(number_of("1e999"), "n", "outside the range");
  EXPECT_FILE_ERROR(number_of("1" + std::string(400, '0')), "n", "outside the range");
  EXPECT_FILE_ERROR(number_of("1e99999999999999999999"), "n", "outside the range");
  EXPECT_EQ(number_of("1e-999"), 0);  // as every reader of JSON has it
  EXPECT_EQ(number_of("0." + std::string(400, '0') + "1e3"), 0);
  EXPECT_EQ(number_of("1e-99999999999999999999"), 0);
  EXPECT_TRUE(std::signbit(number_of("-1e-999")));
  for (const char* const bad : {"01", "1.", ".5", "+1", "-", "1e", "1e+", "0x10", "NaN", "Infinity", "--1"}) {
    EXPECT_THROW(number_of(bad), FileError) << bad;
  }
}

TEST(JsonReader, SkipsAnyValueButOnlyJson) {
  for (const char* const good :
       {"null", "true", "false", "[]", "{}", "[1,[2,{\"a\":[]}],\"x\"]", R"({"a":{"b":null}})"}) {
    EXPECT_TRUE(skips(good)) << good;
  }
  for (const char* const bad :
       {"",           " ",         "nul",   "tru", "falsy",  "[",       "]",        "[1",
        "[1,",        "[1,]",      "[1 2]", "{",   "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,",
        "{\"a\":1,}", "{\"a\" 1}", "{1:2}", "\"",  "\"\\",   "\"\\u",   "1 2"}) {
    EXPECT_THROW(skips(bad), FileError) << bad;
  }
  EXPECT_FILE_ERROR(skips(R"([{"a":1,"a":2}])"), "v", "the key \"a\" twice");
}

TEST(JsonReader, LimitsDepth) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(skips(nested(JsonReader::kMaxDepth)));
  EXPECT_FILE_ERROR(skips(nested(JsonReader::kMaxDepth + 1)), "v", "nested more than 32 deep");
  EXPECT_FILE_ERROR(skips(std::string(1 << 20, '[')), "v", "nested more than 32 deep");
}

TEST(JsonReader, SaysWhereATextIsWrong) {
  EXPECT_FILE_ERROR(skips("[1;2]"), "byte 2", "expected a comma or ], found ';'");
  EXPECT_FILE_ERROR(skips("[\"\u00e9\" \u00e9]"), "byte 6", "expected a comma or ], found '\u00e9'");
  EXPECT_FILE_ERROR(skips("[\x01]"), "byte 1", "expected a value, found '\\x01'");
  EXPECT_FILE_ERROR(skips(std::string("[\0]", 3)), "byte 1", "expected a value, found '\\x00'");
}

TEST(Shown, IsShortAndPrintable) {
  EXPECT_EQ(shown("plain \u00e9 \U0001F600"), "plain \u00e9 \U0001F600");
  EXPECT_EQ(shown("a\x1b[2J\n\x7f"), "a\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(shown("\xff\xc2\x85"), "\\xff\\xc2\\x85");  // not UTF-8; a control character of two bytes
  EXPECT_EQ(shown(std::string(81, 'x')), std::string(80, 'x') + "...");
  EXPECT_LE(shown(std::string(1000, '\n')).size(), 83u);
}

}  // namespace
}  // namespace attend::io
