#include "bench/machine.h"

#include <attend/tensor.h>
#include <gtest/gtest.h>

#include "support/sanitized.h"

namespace attend::bench {
namespace {

TEST(BenchMachine, HasNames) {
  EXPECT_FALSE(cpu_name().empty());
  EXPECT_TRUE(compiler_name().starts_with("gcc ") || compiler_name().starts_with("clang "));
}

TEST(BenchMachine, MemoryThatWasUsedIsSeenAlsoWhenItWasFreed) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  constexpr std::int64_t kMegabytes = 64;
  const double growth = memory_growth([] {
    Tensor tensor(DType::f32, {kMegabytes << 18});
    for (float& value : tensor.values<float>()) value = 1;
  });
  EXPECT_GE(growth, 0.95 * (kMegabytes << 20));
  EXPECT_LE(growth, 1.2 * (kMegabytes << 20));
  EXPECT_LT(memory_growth([] {}), 1 << 20);
}

TEST(BenchMachine, SomeMemoryIsAvailable) {
  EXPECT_GT(resident_memory(), 1 << 20);
  EXPECT_GT(available_memory(), resident_memory() / 100);
}

}  // namespace
}  // namespace attend::bench
