// Times several things in turns, so that a machine that grows slower or faster in the meantime does so for
// all of them.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace attend::bench {

// How long to measure one case: rounds are added until seconds and rounds are reached, or until `most`
// seconds.
struct Effort {
  double seconds = 1;
  int rounds = 5;
  double most = 20;
};

// Calls each once to warm up, then round after round: the first, the second, ..., the first again. What is
// short is called several times in its turn. Returns the seconds of one call, for each of `runs`, one value a
// round.
std::vector<std::vector<double>> take_turns(std::span<const std::function<void()>> runs, Effort effort);

double seconds_of(const std::function<void()>& run);

}  // namespace attend::bench
