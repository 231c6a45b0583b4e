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

TEST(Printable, NoTokenDrivesTheTerminal) {
  EXPECT_EQ(printable("\x1b[31mred"), "␛[31mred");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a␊b␉c␍d");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "␀");
  EXPECT_EQ(printable("\x7f"), "␡");
  EXPECT_EQ(printable("\u009b31m"), "␦31m") << "C1, the one-character form of ESC [";
  EXPECT_EQ(printable("\u202Etxt.exe"), "␦txt.exe") << "right-to-left override";
  EXPECT_EQ(printable("\u2066x\u2069\u061C\u200F"), "␦x␦␦␦");
  EXPECT_EQ(printable("a\u2028b\uFEFF\u200B"), "a␦b␦␦");
  EXPECT_EQ(printable("\U000E0041"), "␦") << "tag letters, which hide text";
}

TEST(Printable, BytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff"), "\uFFFD");
  EXPECT_EQ(printable("a\xc3"), "a\uFFFD") << "cut short";
  EXPECT_EQ(printable("\xc0\xaf"), "\uFFFD\uFFFD") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "half of a surrogate pair";
  EXPECT_EQ(text_width("\xff\xff"), 2);
  EXPECT_EQ(printable("a\uFFFE\uFFFF\U0001FFFEz"), "a\uFFFD\uFFFD\uFFFDz") << "no characters either";
}

TEST(Printable, LeavesGoodTextAlone) {
  for (const std::string text : {"love", "##ing", "Ġthe", "▁deep", "注意力", "👩‍👩‍👧", "नमस्ते",
                                 "می‌خواهم\u200E"}) {
    EXPECT_EQ(printable(text), text);
  }
}

// Otherwise a terminal that reorders would move the numbers after an Arabic label to its other side.
TEST(Printable, RightToLeftOrderEndsWithTheLabel) {
  EXPECT_EQ(printable("مرحبا"), "مرحبا\u200E");
  EXPECT_EQ(printable("שלום"), "שלום\u200E");
  EXPECT_EQ(text_width(printable("مرحبا")), 5);
  EXPECT_TRUE(shorten(printable("مرحبا"), 3).ends_with("…\u200E"));
  EXPECT_EQ(text_width(shorten(printable("مرحبا"), 3)), 3);
}

RC_GTEST_PROP(Printable, AnyBytesBecomeOneTameLine, (const std::string& bytes)) {
  const std::string shown = printable(bytes);
  RC_ASSERT(is_tame(shown + "\n"));
  RC_ASSERT(lines_of(shown + "\n").size() == 1u);
  RC_ASSERT(printable(shown) == shown);
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
