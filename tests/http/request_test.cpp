// Parsing of requests: addresses, callers.
#include <gtest/gtest.h>

#include "http/callers.h"
#include "http/target.h"

namespace attend::http {
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
}  // namespace attend::http
