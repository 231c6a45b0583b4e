#include "draw/text_width.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/lines.h"

namespace attend::draw {
namespace {

TEST(TextWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(text_width(""), 0);
  EXPECT_EQ(text_width("love"), 4);
  EXPECT_EQ(text_width("Größe"), 5);
  EXPECT_EQ(text_width("注意力"), 6);
  EXPECT_EQ(text_width("アテンション"), 12);
  EXPECT_EQ(text_width("한국어"), 6);
  EXPECT_EQ(text_width("한"), 2) << "one syllable of three conjoining letters";
  EXPECT_EQ(text_width("مرحبا"), 5);
  EXPECT_EQ(text_width("سَلَام"), 4) << "vowel marks stand above their letters";
  EXPECT_EQ(text_width("e\u0301"), 1) << "combining acute";
  EXPECT_EQ(text_width("…▀█⣿"), 4);
}

TEST(TextWidth, EmojiAreTwoColumns) {
  EXPECT_EQ(text_width("🙂"), 2);
  EXPECT_EQ(text_width("👍🏽"), 2) << "with a skin tone";
  EXPECT_EQ(text_width("👩‍👩‍👧"), 2) << "a family, joined";
  EXPECT_EQ(text_width("🇩🇪"), 2) << "a flag of two letters";
  EXPECT_EQ(text_width("❤\uFE0F"), 2) << "a heart asked to be a picture";
  EXPECT_EQ(text_width("\U0001FAE0"), 2) << "newer than the tables of the library";
}

TEST(TextWidth, PaddingAndShortening) {
  EXPECT_EQ(pad_left("力", 4), "  力");
  EXPECT_EQ(pad_right("力", 4), "力  ");
  EXPECT_EQ(pad_both("ab", 5), " ab  ");
  EXPECT_EQ(pad_left("long", 2), "long");
  EXPECT_EQ(shorten("learning", 8), "learning");
  EXPECT_EQ(shorten("learning", 6), "learn…");
  EXPECT_EQ(shorten("注意力", 4), "注…") << "half a character is none";
  EXPECT_EQ(shorten("e\u0301e\u0301e\u0301", 2), "e\u0301…") << "marks stay with their letter";
  EXPECT_EQ(shorten("learning", 1), "…");
  EXPECT_EQ(shorten("learning", 0), "");
  EXPECT_EQ(shorten("learning", -3), "");
  EXPECT_EQ(indent("a\n\nb\n", 2), "  a\n\n  b\n");
}

RC_GTEST_PROP(TextWidth, ShorteningKeepsWithinTheWidth, (const std::string& bytes)) {
  const std::string shown = printable(bytes);
  for (int width = 0; width < 12; ++width) {
    RC_ASSERT(text_width(shorten(shown, width)) <= width);
    RC_ASSERT(text_width(pad_left(shorten(shown, width), width)) == width);
  }
}

}  // namespace
}  // namespace attend::draw
