// Parsing of requests: addresses, bodies, callers.
#include <gtest/gtest.h>

#include "explore/bodies.h"
#include "explore/callers.h"
#include "explore/target.h"

namespace attend::explore {
namespace {

template <class Action>
int status_of(const Action& action) {
  try {
    action();
  } catch (const RequestError& error) {
    return error.status;
  }
  return 200;
}

TEST(Target, IsTakenApart) {
  Target target("/api/1a2b-3/tile?layer=2&units=a%20b&&empty=&flag");
  EXPECT_EQ(target.path(), (std::vector<std::string>{"api", "1a2b-3", "tile"}));
  EXPECT_EQ(target.number("layer"), 2);
  EXPECT_EQ(target.text("units"), "a b");
  EXPECT_EQ(target.text("empty"), "");
  EXPECT_EQ(status_of([&] { target.require_all_used(); }), 400);
  EXPECT_EQ(target.text("flag"), "");
  EXPECT_EQ(target.number("head"), std::nullopt);
  target.require_all_used();
  EXPECT_EQ(Target("/").path(), std::vector<std::string>{""});
  EXPECT_EQ(Target("/?a=1").path(), std::vector<std::string>{""});
  EXPECT_EQ(Target("/a%2Fb/").path(), (std::vector<std::string>{"a/b", ""}));
}

TEST(Target, RefusesWhatItCannotRead) {
  for (const char* const text : {"", "api", "*", "http://x/", "/a b", "/\x01", "/\xC3\xA4", "/%", "/%1",
                                 "/%g0", "/?a=1&a=2", "/?a=%f"})
    EXPECT_EQ(status_of([&] { Target{text}; }), 400) << text;
  for (const char* const number :
       {"", "-1", "+1", "1.5", "x", "1x", "99999999999999999999", "1099511627777"}) {
    Target target(std::string("/?n=") + number);
    EXPECT_EQ(status_of([&] { target.number("n"); }), 400) << number;
  }
  Target none("/");
  EXPECT_EQ(status_of([&] { none.required_number("n"); }), 400);
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

TEST(Callers, OnlyThisMachineByItsOwnNames) {
  for (const char* const host : {"127.0.0.1", "127.0.0.1:8080", "localhost", "localhost:1"})
    EXPECT_TRUE(is_own_host(host)) << host;
  for (const char* const host :
       {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.2",
        "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:123456", "127.0.0.1:80:80", "[::1]", "localhost@evil.example",
        " localhost", "LOCALHOST\t"})
    EXPECT_FALSE(is_own_host(host)) << host;
}

TEST(Callers, OnlyPagesThatCameFromHere) {
  EXPECT_TRUE(is_own_origin("", "localhost:1"));
  EXPECT_TRUE(is_own_origin("http://localhost:1", "localhost:1"));
  for (const char* const origin : {"null", "http://localhost:2", "https://localhost:1", "http://127.0.0.1:1",
                                   "http://evil.example", "localhost:1", "http://localhost:1/"})
    EXPECT_FALSE(is_own_origin(origin, "localhost:1")) << origin;
}

}  // namespace
}  // namespace attend::explore
