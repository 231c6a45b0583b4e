// Long work ends when its thread's check throws, wherever the work is done, and what comes after is unharmed.
#include "base/interrupt.h"

#include <attend/threads.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/parallel.h"

namespace attend {
namespace {

using namespace std::chrono_literals;

struct Stopped {};

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void stop() { throw Stopped(); }

class Interrupting : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_threads(GetParam()); }
  void TearDown() override { set_threads(0); }
};

TEST_P(Interrupting, ManyChunks) {
  std::atomic<std::int64_t> runs{0};
  const auto job = [&] {
    const Interruptible interruptible(stop);
    parallel_for(1 << 20, [&](std::int64_t, int) noexcept {  // an hour of work
      ++runs;
      std::this_thread::sleep_for(5ms);
    });
  };
  EXPECT_LT(seconds_of([&] { EXPECT_THROW(job(), Stopped); }), 5);
  EXPECT_GT(runs.load(), 0);
  const std::int64_t then = runs.load();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(runs.load(), then) << "a chunk ran after the call had ended";

  std::atomic<std::int64_t> sum{0};
  parallel_for(1000, [&](std::int64_t chunk, int) noexcept { sum += chunk; });
  EXPECT_EQ(sum.load(), 999 * 500) << "the next job is whole";
}

// The caller's own chunk is short: it waits for those of the others, and they look whether they are wanted.
TEST_P(Interrupting, LongChunks) {
  const auto job = [&] {
    const Interruptible interruptible(stop);
    parallel_for(8, [&](std::int64_t, int lane) noexcept {
      for (int tile = 0; tile < (1 << 20) && !abandoned(); ++tile)
        std::this_thread::sleep_for(lane == 0 ? 3ms : 1ms);
    });
  };
  EXPECT_LT(seconds_of([&] { EXPECT_THROW(job(), Stopped); }), 5);
}

TEST_P(Interrupting, NothingIsThrownInsideAJob) {
  int asked = 0;
  std::atomic<int> runs{0};
  const auto job = [&] {
    const Interruptible interruptible([&] {
      ++asked;
      throw Stopped();
    });
    parallel_for(4, 1, [&](std::int64_t, int) noexcept {
      std::this_thread::sleep_for(100ms);
      interruption_point();  // does nothing here, nor does the job inside
      parallel_for(5, [&](std::int64_t, int) noexcept { ++runs; });
    });
  };
  EXPECT_THROW(job(), Stopped);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(runs.load(), 5) << "the job inside is whole, and the three chunks after it are not begun";
}

INSTANTIATE_TEST_SUITE_P(Threads, Interrupting, testing::Values(1, 2, 4));

TEST(Interruptible, APointBetweenPartsThrows) {
  const Interruptible interruptible(stop);
  interruption_point();  // too early to ask
  EXPECT_THROW(
      for (int part = 0; part < 1000; ++part) {
        interruption_point();
        std::this_thread::sleep_for(5ms);
      },
      Stopped);
}

TEST(Interruptible, ACheckThatReturnsEndsNothing) {
  int asked = 0, runs = 0;
  const Interruptible interruptible([&] { ++asked; });
  parallel_for(60, 1, [&](std::int64_t, int) noexcept {
    ++runs;
    std::this_thread::sleep_for(5ms);
  });
  EXPECT_EQ(runs, 60);
  EXPECT_GE(asked, 2);
  EXPECT_LE(asked, 60);
}

TEST(Interruptible, TheInnermostCounts) {
  const Interruptible outer(stop);
  {
    const Interruptible never({});
    std::this_thread::sleep_for(70ms);
    EXPECT_NO_THROW(interruption_point());
  }
  EXPECT_THROW(interruption_point(), Stopped);
}

TEST(Interruptible, ACheckMayCallTheLibrary) {
  std::atomic<int> runs{0};
  const Interruptible interruptible([&] {
    interruption_point();
    parallel_for(3, [&](std::int64_t, int) noexcept { ++runs; });
  });
  parallel_for(40, [&](std::int64_t, int) noexcept { std::this_thread::sleep_for(5ms); });
  EXPECT_GE(runs.load(), 3);
}

// Other threads' calls are their own.
TEST(Interruptible, AnotherThreadIsNotAsked) {
  const Interruptible interruptible(stop);
  std::atomic<int> runs{0};
  std::thread other([&] {
    parallel_for(20, 1, [&](std::int64_t, int) noexcept {
      ++runs;
      std::this_thread::sleep_for(5ms);
    });
  });
  other.join();
  EXPECT_EQ(runs.load(), 20);
}

}  // namespace
}  // namespace attend
