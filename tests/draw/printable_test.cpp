#include "draw/printable.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "draw/style.h"
#include "support/lines.h"

namespace attend::draw {
namespace {

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
  EXPECT_EQ(printable("\U000E0001\U000E0080\uFFF0\u2065"), "␦␦␦␦") << "set aside for such characters";
  EXPECT_EQ(printable("a\u00ADb\u2060c\u180Ed\u3164e\u115Ff\uFFA0"), "a␦b␦c␦d␦e␦f␦");
}

// What a model writes has lines; a carriage return would let it overwrite them.
TEST(Printable, LinesAndTabsOfAText) {
  EXPECT_EQ(printable("a\n\tb\r\n\x1b[2Jc", Allow::lines), "a\n\tb␍\n␛[2Jc");
  EXPECT_EQ(printable("שלום\n12", Allow::lines), "שלום\u200E\n12") << "each line by itself";
  EXPECT_EQ(printable("\x1b[31mred", Allow::lines), "␛[31mred") << "no style is ours there";
}

TEST(Printable, OurStylesAndNothingElse) {
  const std::string ours = styled("bold", {.emphasis = Emphasis::bold}, ColorDepth::truecolor) + "\n" +
                           styled("cell", cell_style(0.5, ColorDepth::ansi256), ColorDepth::ansi256) + "\n";
  EXPECT_EQ(printable(ours, Allow::styles), ours);
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\a\x1b[31", Allow::styles), "␛[2J␛]0;title␇␛[31");
  EXPECT_EQ(printable("\x1b[?25l\x1b[1;1H\x1bM", Allow::styles), "␛[?25l␛[1;1H␛M");
  EXPECT_EQ(printable("\x1b[0;1m\x1b\x1b[0m", Allow::styles), "\x1b[0;1m␛\x1b[0m");
}

TEST(Printable, JoinersWhereTheyJoin) {
  for (const std::string text : {"👩‍👩‍👧", "👩🏽‍🚀", "👁\uFE0F‍🗨\uFE0F",
                                 "क्‍ष", "❤\uFE0F‍🔥"})
    EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("a\u200Db"), "a␦b");
  EXPECT_EQ(printable("pay\u200Cpal"), "pay␦pal") << "Latin letters do not join";
  EXPECT_EQ(printable("👩\u200D\u200D👩"), "👩␦␦👩");
  EXPECT_EQ(printable("\u200D👩\u200D"), "␦👩␦");
}

TEST(Printable, VariationSelectorsWhereThereAreVariants) {
  for (const std::string text : {"❤\uFE0F", "❤\uFE0E", "1\uFE0F\u20E3", "葛\U000E0100", "≨\uFE00"})
    EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("a\uFE0F"), "a␦");
  EXPECT_EQ(printable("❤\uFE0F\uFE0F"), "❤\uFE0F␦") << "a row of them hides bytes";
  EXPECT_EQ(printable("a\U000E0101\U000E0102"), "a␦␦");
}

TEST(Printable, MarksStandOnSomething) {
  EXPECT_EQ(printable("\u0301x"), "◌\u0301x") << "else it would stand on what is left of the label";
  EXPECT_EQ(printable("e\u0301\u0302"), "e\u0301\u0302");
  std::string many = "e", ten = "e";
  for (int i = 0; i < 1000; ++i) many += "\u0301";
  for (int i = 0; i < 10; ++i) ten += "\u0301";
  EXPECT_EQ(printable(many + "x"), ten + "␦x");
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

// Characters that mean something to a renderer, in any order.
RC_GTEST_PROP(Printable, TheGateLetsItsOwnThrough, ()) {
  const std::vector<std::string> pieces = {
      "a",      " ",  "\n", "\t", "\x1b[0m", "\x1b", "[31m", "\u200D", "\u200C", "\u200E", "\u202E", "\uFE0F",
      "\u0301", "👩", "🏽", "❤",  "ש",       "ع",    "क",    "\u094D", "\xff",   "\u2028", "葛"};
  const auto chosen =
      *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, static_cast<int>(pieces.size())));
  std::string text;
  for (const int piece : chosen) text += pieces[static_cast<std::size_t>(piece)];
  for (const Allow allow : {Allow::words, Allow::lines, Allow::styles}) {
    const std::string shown = printable(text, allow);
    RC_ASSERT(printable(shown, allow) == shown);
    RC_ASSERT(shown.find('\x1b') == shown.npos || allow == Allow::styles);
    for (const char* const hidden : {"\u202E", "\u2028", "\xff"}) RC_ASSERT(shown.find(hidden) == shown.npos);
  }
}

}  // namespace
}  // namespace attend::draw
