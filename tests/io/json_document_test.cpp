#include "io/json_document.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/file_error.h"

namespace attend::io {
namespace {

constexpr std::string_view kTree =
    R"({"a": {"b": [1, "two", {"c d": true}]}, "n": null, "x": -2.5e1, "\u0065": "\u00e9"})";

TEST(JsonDocument, IsATree) {
  const JsonDocument document("file", kTree);
  const JsonValue root = document.root();
  ASSERT_TRUE(root.is_object());
  EXPECT_EQ(root.members().size(), 4u);
  const JsonValue list = root.at("a").at("b");
  ASSERT_EQ(list.elements().size(), 3u);
  EXPECT_EQ(list.elements()[0].integer(0, 9), 1);
  EXPECT_EQ(list.elements()[1].string(), "two");
  EXPECT_TRUE(list.elements()[2].boolean("c d", false));
  EXPECT_EQ(root.at("x").number(), -25);
  EXPECT_EQ(root.at("e").character(), U'\u00e9');
  EXPECT_FALSE(root.find("n"));  // as if it were not there
  EXPECT_FALSE(root.find("c d"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : root.members()) keys.emplace_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "n", "x", "e"}));
}

TEST(JsonDocument, RefusalsNameThePath) {
  const JsonDocument document("file", kTree);
  const JsonValue root = document.root(), list = root.at("a").at("b");
  EXPECT_EQ(root.path(), "");
  EXPECT_EQ(list.elements()[2].at("c d").path(), "a.b[2].[\"c d\"]");
  EXPECT_FILE_ERROR(list.elements()[1].number(), "a.b[1]", "expected a number, found a string");
  EXPECT_FILE_ERROR(list.elements()[0].integer(2, 3), "a.b[0]", "is 1, expected 2 to 3");
  EXPECT_FILE_ERROR(root.at("x").integer(2, 3), "x", "expected a whole number from 2 to 3");
  EXPECT_FILE_ERROR(list.at("z"), "a.b", "expected an object, found an array");
  EXPECT_FILE_ERROR(root.at("a").at("z"), "a.z", "is missing");
  EXPECT_FILE_ERROR(root.at("a").only_keys({"c"}), "a.b", "is not a key that is supported here");
  EXPECT_FILE_ERROR(list.elements(2), "a.b", "has 3 elements, more than the 2 that are allowed");
  EXPECT_FILE_ERROR(root.at("n"), "n", "is missing");
}

TEST(JsonDocument, PathsStayShort) {
  std::string text = "{\"k\":1,\"k\":1}";
  for (int i = 0; i < 30; ++i)
    text = "{\"" + std::string(70, static_cast<char>('a' + i % 26)) + "\":" + text + "}";
  try {
    JsonDocument("file", text);
    ADD_FAILURE() << "was read";
  } catch (const FileError& error) {
    EXPECT_LT(std::string(error.what()).size(), 300u);
    EXPECT_TRUE(error.where().starts_with("...")) << error.what();
    EXPECT_TRUE(error.where().ends_with("\"].k")) << error.what();
  }
}

TEST(JsonDocument, RefusesWhatIsNotJson) {
  const auto read = [](std::string_view text) { JsonDocument("file", text); };
  EXPECT_FILE_ERROR(read(""), "", "is not JSON: expected a value, found the end of the text, at byte 0");
  EXPECT_FILE_ERROR(read("{\"a\" 1}"), "", "is not JSON: expected a colon, found '1', at byte 5");
  EXPECT_FILE_ERROR(read("[1] 2"), "", "is not JSON: expected nothing after the last bracket, found '2'");
  EXPECT_FILE_ERROR(read("\"\xff\""), "", "is not JSON: byte 1 is not UTF-8 text");
  EXPECT_FILE_ERROR(read(std::string(33, '[')), "", "is nested more than 32 deep");
}

TEST(JsonDocument, RefusesAKeyThatComesTwiceWhereverItStands) {
  const auto read = [](std::string_view text) { JsonDocument("file", text); };
  EXPECT_FILE_ERROR(read(R"({"a": 1, "b": 2, "\u0061": 3})"), "a", "occurs twice");
  EXPECT_FILE_ERROR(read(R"([0, {"x": [{}, {"k": 1, "k": 1}]}])"), "[1].x[1].k", "occurs twice");
  std::string large = "{";
  for (int i = 0; i < 1000; ++i) large += "\"a long key that they share " + std::to_string(i) + "\":0,";
  EXPECT_NO_THROW(read(large + "\"z\":0}"));
  EXPECT_FILE_ERROR(read(large + "\"a long key that they share 500\":0}"),
                    "[\"a long key that they share 500\"]", "occurs twice");
}

}  // namespace
}  // namespace attend::io
