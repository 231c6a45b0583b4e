#include "bench/timer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace attend::bench {
namespace {

std::function<void()> sleep_of(int milliseconds) {
  return [=] { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
}

TEST(BenchTimer, MeasuresOneCallHoweverOftenItIsCalled) {
  const std::vector<std::function<void()>> runs = {sleep_of(1), sleep_of(20)};
  const auto seconds = take_turns(runs, {.seconds = 0, .rounds = 3, .most = 60});
  ASSERT_EQ(seconds.size(), 2u);
  for (const auto& rounds : seconds) ASSERT_EQ(rounds.size(), 3u);
  for (const double taken : seconds[0]) EXPECT_GE(taken, 1e-3);
  for (const double taken : seconds[1]) EXPECT_GE(taken, 20e-3);
  EXPECT_LT(seconds[0][1], seconds[1][1]);
}

TEST(BenchTimer, TakesTurns) {
  std::string order;
  const std::vector<std::function<void()>> runs = {[&] { order += 'a', sleep_of(5)(); },
                                                   [&] { order += 'b', sleep_of(5)(); }};
  take_turns(runs, {.seconds = 0, .rounds = 3, .most = 60});
  EXPECT_TRUE(order.ends_with("ababab")) << order;
}

TEST(BenchTimer, GoesOnUntilTheTimeIsSpent) {
  const std::vector<std::function<void()>> runs = {sleep_of(5)};
  EXPECT_GE(take_turns(runs, {.seconds = 0.05, .rounds = 1, .most = 60}).front().size(), 2u);
}

TEST(BenchTimer, StopsWhenItHasHadEnough) {
  const std::vector<std::function<void()>> runs = {sleep_of(20)};
  EXPECT_EQ(take_turns(runs, {.seconds = 100, .rounds = 100, .most = 0.01}).front().size(), 1u);
}

TEST(BenchTimer, NothingToTime) {
  EXPECT_TRUE(take_turns({}, {.seconds = 0, .rounds = 1, .most = 60}).empty());
}

}  // namespace
}  // namespace attend::bench
