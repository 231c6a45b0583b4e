#include "bench/timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace attend::bench {
namespace {

// A turn is long compared with the resolution of the clock and the time to wake a thread (both below 0.1 ms),
// and an eighth of the slowest call, so that the peak measured next to a call of one second is not a snapshot
// of 4 ms.
constexpr double kShortestTurn = 4e-3, kLongestTurn = 60e-3;

double repeat(const std::function<void()>& run, int times) {
  return seconds_of([&] {
    for (int i = 0; i < times; ++i) run();
  });
}

// An estimate of the seconds per call, from enough calls to be useful. A first call of half a second has
// warmed up long before its end.
double estimate(const std::function<void()>& run) {
  const double first = seconds_of(run);
  if (first > 0.5) return first;
  for (int times = 1;; times *= 4) {
    const double seconds = repeat(run, times);
    if (seconds > kShortestTurn / 8) return seconds / times;
  }
}

}  // namespace

double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::vector<double>> take_turns(std::span<const std::function<void()>> runs, Effort effort) {
  std::vector<double> guess;
  for (const auto& run : runs) guess.push_back(estimate(run));
  const double slowest = guess.empty() ? 0 : *std::max_element(guess.begin(), guess.end());
  const double seconds_a_turn = std::clamp(slowest / 8, kShortestTurn, kLongestTurn);

  std::vector<std::vector<double>> seconds(runs.size());
  double spent = 0;
  const auto enough = [&](int round) {
    return spent > effort.most || (round >= effort.rounds && spent >= effort.seconds);
  };
  for (int round = 0; round == 0 || !enough(round); ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const int times = std::max(1, static_cast<int>(std::ceil(seconds_a_turn / guess[i])));
      const double taken = repeat(runs[i], times);
      seconds[i].push_back(taken / times);
      spent += taken;
    }
  }
  return seconds;
}

}  // namespace attend::bench
