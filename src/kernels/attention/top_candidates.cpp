#include "kernels/attention/top_candidates.h"

#include <algorithm>

namespace attend::kernels {
namespace {

bool better(const Candidate& a, const Candidate& b) noexcept {
  return a.score > b.score || (a.score == b.score && a.key < b.key);
}

}  // namespace

float keep_best(Candidate* candidates, std::int64_t count, std::int64_t keep) noexcept {
  Candidate* const last = candidates + keep - 1;
  std::nth_element(candidates, last, candidates + count, better);
  return last->score;
}

void sort_best(Candidate* candidates, std::int64_t count) noexcept {
  std::sort(candidates, candidates + count, better);
}

}  // namespace attend::kernels
