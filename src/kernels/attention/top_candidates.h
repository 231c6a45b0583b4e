// The largest of many scores when many are kept: candidates are gathered, and thinned out when there are
// three times as many as needed. Each costs a constant, however many are kept.
#pragma once

#include <cstdint>

namespace attend::kernels {

struct Candidate {
  float score;
  std::int32_t key;
};

// Moves the `keep` best of `count` candidates to the front, in any order, and returns the worst score among
// them. Equal scores: the lower key is better.
float keep_best(Candidate* candidates, std::int64_t count, std::int64_t keep) noexcept;

// Best first.
void sort_best(Candidate* candidates, std::int64_t count) noexcept;

}  // namespace attend::kernels
