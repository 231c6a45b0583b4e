#include "steps/printable.h"

#include <gtest/gtest.h>

namespace attend::steps {
namespace {

TEST(Printable, KeepsWhatIsText) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable("naïve 東京"), "naïve 東京");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, EscapesWhatMovesTheCursor) {
  EXPECT_EQ(printable("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
  EXPECT_EQ(printable({"\0", 1}), "\\x00");
  EXPECT_EQ(printable("\xC2\x9B"), "\\x9b");  // the one-character form of escape [
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("aé", 2), "a...");
  EXPECT_EQ(printable("\x80\x80", 1), "...");
}

TEST(Counted, SaysOneAndMany) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(3, "row"), "3 rows");
}

}  // namespace
}  // namespace attend::steps
