#include "base/memory_limit.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(MemoryLimit, IsWhatThisProcessMayHave) { EXPECT_GT(memory_limit(), 1e8); }

TEST(MemoryText, HasThreeDigitsAtMost) {
  EXPECT_EQ(memory_text(0), "0 bytes");
  EXPECT_EQ(memory_text(12), "12 bytes");
  EXPECT_EQ(memory_text(999), "999 bytes");
  EXPECT_EQ(memory_text(999.9), "1 kB");
  EXPECT_EQ(memory_text(1.01e6), "1.01 MB");
  EXPECT_EQ(memory_text(90'870'000), "90.9 MB");
  EXPECT_EQ(memory_text(24.56e9), "24.6 GB");
  EXPECT_EQ(memory_text(999.7e9), "1 TB");
  EXPECT_EQ(memory_text(1.5e12), "1.5 TB");
  EXPECT_EQ(memory_text(5e22), "50000 EB");
}

}  // namespace
}  // namespace attend
