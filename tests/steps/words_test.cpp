#include "draw/prose.h"

#include <gtest/gtest.h>

namespace attend::steps {
namespace {

TEST(Counted, SaysOneAndMany) {
  EXPECT_EQ(draw::counted(0, "row"), "0 rows");
  EXPECT_EQ(draw::counted(1, "row"), "1 row");
  EXPECT_EQ(draw::counted(3, "row"), "3 rows");
}

}  // namespace
}  // namespace attend::steps
