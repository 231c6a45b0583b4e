#include "bench/peak.h"

#include <attend/isa.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

namespace attend::bench {
namespace {

TEST(BenchPeak, CountsWhatEveryThreadOfEveryInstructionSetDoes) {
  for (const std::string& name : available_isas()) {
    set_isa(name);
    set_threads(1);
    const double one = run_multiply_adds();
    EXPECT_GT(one, 1e6);
    set_threads(3);
    EXPECT_EQ(run_multiply_adds(), 3 * one) << name;
  }
  set_isa("");
  set_threads(0);
}

TEST(BenchPeak, ReadsAllOfItsBuffer) {
  MemoryReader reader(1 << 20);
  EXPECT_GE(reader.bytes(), 1 << 20);
  for (const std::string& name : available_isas()) {
    set_isa(name);
    EXPECT_NO_THROW(reader.run());
  }
  set_isa("");
}

}  // namespace
}  // namespace attend::bench
