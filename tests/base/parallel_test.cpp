#include "base/parallel.h"

#include <attend/threads.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <span>
#include <thread>
#include <vector>

#include "support/emulated.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

class Parallel : public testing::Test {
 protected:
  void TearDown() override { set_threads(0); }
};

TEST_F(Parallel, EveryChunkRunsOnceWithAnyNumberOfThreads) {
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    EXPECT_EQ(threads(), count);
    for (const Sharing sharing : {Sharing::turns, Sharing::neighbours}) {
      for (const std::int64_t chunks : {0, 1, 2, 7, 8, 9, 1000}) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(chunks));
        std::atomic<bool> lane_ok{true};
        parallel_for(chunks, count, sharing, [&](std::int64_t chunk, int lane) noexcept {
          ++runs[static_cast<std::size_t>(chunk)];
          if (lane < 0 || lane >= count) lane_ok = false;
        });
        for (const auto& run : runs) ASSERT_EQ(run.load(), 1);
        EXPECT_TRUE(lane_ok);
      }
    }
  }
}

// Shares of any size, also none, and more of them than there are threads.
TEST_F(Parallel, EveryChunkOfGivenSharesRunsOnce) {
  const std::vector<std::vector<std::int64_t>> cuts = {
      {0, 0}, {0, 7}, {0, 3, 3, 4}, {0, 0, 0, 9}, {0, 50, 60, 100, 100}, {0, 1, 2, 3, 4, 5, 6, 7, 8}};
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    for (const auto& begins : cuts) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(begins.back()));
      std::atomic<bool> lane_ok{true};
      parallel_for(std::span<const std::int64_t>(begins), [&](std::int64_t chunk, int lane) noexcept {
        ++runs[static_cast<std::size_t>(chunk)];
        if (lane < 0 || lane >= std::min(count, static_cast<int>(begins.size()) - 1)) lane_ok = false;
      });
      for (const auto& run : runs) ASSERT_EQ(run.load(), 1);
      EXPECT_TRUE(lane_ok);
    }
  }
}

// The caller waits in the first chunk of its share until the rest of all shares is done.
TEST_F(Parallel, OthersDoTheRestOfAGivenShare) {
  set_threads(3);
  const std::vector<std::int64_t> begins = {0, 20, 20, 30};
  std::atomic<int> others{0};
  parallel_for(std::span<const std::int64_t>(begins), [&](std::int64_t chunk, int) noexcept {
    if (chunk > 0) ++others;
    while (chunk == 0 && others < 29) std::this_thread::yield();
  });
  EXPECT_EQ(others.load(), 29);
}

TEST_F(Parallel, NoLaneBeyondThoseAskedFor) {
  set_threads(8);
  for (int job = 0; job < 500; ++job) {
    std::atomic<int> highest{0}, runs{0};
    parallel_for(6, 3, [&](std::int64_t, int lane) noexcept {
      ++runs;
      int seen = highest.load();
      while (seen < lane && !highest.compare_exchange_weak(seen, lane)) {
      }
    });
    ASSERT_LT(highest.load(), 3);
    ASSERT_EQ(runs.load(), 6);
  }
  EXPECT_EQ(lanes_for(0), 1);
  EXPECT_EQ(lanes_for(5), 5);
  EXPECT_EQ(lanes_for(1000), 8);
}

// Jobs of other sizes one after the other: nothing of one may be taken for a part of the next.
TEST_F(Parallel, ManySmallJobsInARow) {
  set_threads(4);
  std::atomic<std::int64_t> sum{0};
  std::int64_t expected = 0;
  for (int job = 0; job < 5000; ++job) {
    const std::int64_t chunks = 3 + job % 7;
    expected += chunks * (chunks - 1) / 2;
    parallel_for(chunks, 2 + job % 3, job % 2 == 0 ? Sharing::turns : Sharing::neighbours,
                 [&](std::int64_t chunk, int) noexcept { sum += chunk; });
  }
  EXPECT_EQ(sum.load(), expected);
}

// The first chunk ends after all others: those that its lane would have done next are done by other lanes.
TEST_F(Parallel, OthersDoTheShareOfALaneThatIsBusy) {
  set_threads(3);
  for (const Sharing sharing : {Sharing::turns, Sharing::neighbours}) {
    std::atomic<int> others{0};
    parallel_for(30, 3, sharing, [&](std::int64_t chunk, int) noexcept {
      if (chunk > 0) {
        ++others;
        return;
      }
      while (others < 29) std::this_thread::yield();
    });
    EXPECT_EQ(others.load(), 29);
  }
}

TEST_F(Parallel, AJobInsideAJobRuns) {
  set_threads(3);
  std::atomic<int> runs{0};
  parallel_for(
      4, [&](std::int64_t, int) noexcept { parallel_for(5, [&](std::int64_t, int) noexcept { ++runs; }); });
  EXPECT_EQ(runs.load(), 20);
}

TEST_F(Parallel, SeveralCallersAtOnce) {
  set_threads(2);
  std::atomic<int> runs{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int job = 0; job < 200; ++job) parallel_for(8, [&](std::int64_t, int) noexcept { ++runs; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(runs.load(), 4 * 200 * 8);
}

// The child has the pool's memory but none of its threads; it must neither hang, nor wait for them at exit,
// nor when it changes their number.
TEST_F(Parallel, AForkedChildWorks) {
  // A worker that is just starting holds a lock of the sanitizer's, which the child inherits locked.
  if (kSanitized) GTEST_SKIP() << "the sanitizers do not support threads after fork()";
  if (kEmulated) GTEST_SKIP() << "qemu's user mode does not support threads after fork()";
  set_threads(2);
  parallel_for(8, [](std::int64_t, int) noexcept {});
  const pid_t child = fork();
  if (child == 0) {
    ::alarm(60);  // a child that hangs must not outlive its test
    std::atomic<int> runs{0};
    parallel_for(8, [&](std::int64_t, int) noexcept { ++runs; });
    set_threads(3);
    std::exit(runs == 8 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Parallel, TheEnvironmentSetsTheNumber) {
  setenv("ATTEND_THREADS", "3", 1);
  set_threads(0);
  EXPECT_EQ(threads(), 3);
  for (const char* bad : {"0", "-1", "two", "3x", "1025", "99999999999999999999"}) {
    setenv("ATTEND_THREADS", bad, 1);
    EXPECT_REFUSES(set_threads(0), "expected a whole number from 1 to 1024") << bad;
  }
  unsetenv("ATTEND_THREADS");
  EXPECT_REFUSES(set_threads(-2), "[threads] expected 0 (the default) or a number from 1 to 1024, got -2");
  EXPECT_REFUSES(set_threads(std::int64_t{1} << 32), "from 1 to 1024, got 4294967296");
}

}  // namespace
}  // namespace attend
