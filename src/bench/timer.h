// Times several calls alternately, so that a machine that becomes slower or faster affects them all alike.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace attend::bench {

// How long to measure one case: until both `seconds` and `rounds` are reached, or for `most` seconds.
struct Effort {
  double seconds = 1;
  int rounds = 5;
  double most = 20;
};

// Calls each once to warm up, then in rounds: the first, the second, ..., the first again. Short calls are
// repeated within their turn. Returns the seconds per call for each of `runs`, one value per round.
std::vector<std::vector<double>> take_turns(std::span<const std::function<void()>> runs, Effort effort);

double seconds_of(const std::function<void()>& run);

}  // namespace attend::bench
