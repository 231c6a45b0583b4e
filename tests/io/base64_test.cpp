#include "io/base64.h"

#include <gtest/gtest.h>

namespace attend::io {
namespace {

// RFC 4648, section 10.
TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, TakesBytesOfEveryValue) {
  EXPECT_EQ(to_base64(std::string_view("\x00\xff\x7f\x80", 4)), "AP9/gA==");
}

TEST(Base64, IsAppended) {
  std::string text = "data:";
  append_base64(text, "foo");
  EXPECT_EQ(text, "data:Zm9v");
}

}  // namespace
}  // namespace attend::io
