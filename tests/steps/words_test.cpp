#include "steps/words.h"

#include <gtest/gtest.h>

namespace attend::steps {
namespace {

TEST(Shown, KeepsTextAndNeutralisesTheRest) {
  EXPECT_EQ(shown("naïve 東京"), "naïve 東京");
  EXPECT_EQ(shown(""), "");
  EXPECT_EQ(shown("a\nb\x1b[2J"), "a␊b␛[2J");
}

TEST(Shown, CutsLongText) { EXPECT_EQ(shown(std::string(5000, 'x')), std::string(39, 'x') + "…"); }

TEST(Counted, SaysOneAndMany) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(3, "row"), "3 rows");
}

}  // namespace
}  // namespace attend::steps
