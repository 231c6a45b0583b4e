// Parsing of the bodies of requests.
#include <gtest/gtest.h>

#include "explore/bodies.h"
#include "http/message.h"

namespace attend::explore {
namespace {

template <class Action>
int status_of(const Action& action) {
  try {
    action();
  } catch (const http::RequestError& error) {
    return error.status;
  }
  return 200;
}

TEST(Bodies, AreTakenApart) {
  const ReadBody read = parse_read(R"({"text": "a\u00e4", "second": "b", "model": "m"})");
  EXPECT_EQ(read.text, "a\xC3\xA4");
  EXPECT_EQ(read.second, "b");
  EXPECT_EQ(read.model, "m");
  EXPECT_EQ(parse_read(R"({"text": "a", "second": null})").second, "");
  EXPECT_EQ(parse_read(R"({"text": "a"})").model, std::nullopt);
  EXPECT_EQ(parse_change(R"({"edits": ["4.2", "it>animal"]})").edits,
            (std::vector<std::string>{"4.2", "it>animal"}));
  EXPECT_TRUE(parse_change(R"({"edits": []})").edits.empty());
  EXPECT_EQ(parse_compare(R"({"first": "a", "second": "b", "word": "c"})").word, "c");
}

TEST(Bodies, RefuseWhatTheyCannotRead) {
  for (const char* const body :
       {"", "x", "1", "[]", "{}", R"({"text": 1})", R"({"text": ""})", R"({"text": " \n"})",
        R"({"text": ["a"]})", R"({"text": "a", "x": "b"})", R"({"text": "a", "text": "b"})",
        R"({"text": "a"} x)", "{\"text\": \"\xFF\"}", R"({"text": "a", "second": {"a": 1}})",
        R"({"text": "\ud800"})"})
    EXPECT_EQ(status_of([&] { parse_read(body); }), 400) << body;
  EXPECT_EQ(status_of([] { parse_read(std::string(100000, '[')); }), 400);
  EXPECT_EQ(status_of([] { parse_change(R"({"edits": [1]})"); }), 400);
  EXPECT_EQ(status_of([] { parse_change(R"({"edits": "1"})"); }), 400);
  std::string many = R"({"edits": ["1")";
  for (int i = 0; i < 256; ++i) many += R"(,"1")";
  EXPECT_EQ(status_of([&] { parse_change(many + "]}"); }), 400);
  EXPECT_EQ(status_of([] { parse_compare(R"({"first": "a", "second": "b"})"); }), 400);
}

}  // namespace
}  // namespace attend::explore
