#include "kernels/attention/top_candidates.h"

#include <algorithm>
#include <functional>

namespace attend::kernels {
namespace {

// Puts what is larger than the candidate at `pivot` before it and the rest after it; returns its new
// place. Every element is swapped, so that nothing is decided by a branch: half of those would be
// mispredicted.
Candidate* part(Candidate* first, Candidate* last, Candidate* pivot) noexcept {
  std::swap(*pivot, *(last - 1));
  const Candidate middle = *(last - 1);
  Candidate* end = first;
  for (Candidate* at = first; at < last - 1; ++at) {
    const Candidate x = *at;
    *at = *end;
    *end = x;
    end += x > middle ? 1 : 0;
  }
  std::swap(*end, *(last - 1));
  return end;
}

Candidate* median(Candidate* a, Candidate* b, Candidate* c) noexcept {
  if (*b > *a) std::swap(a, b);
  if (*c > *a) return a;
  return *c > *b ? c : b;
}

}  // namespace

float keep_best(Candidate* candidates, std::int64_t count, std::int64_t keep) noexcept {
  Candidate *first = candidates, *last = candidates + count;
  Candidate* const wanted = candidates + keep - 1;
  // Each round leaves about half. Where the pivots are bad again and again, the library's way takes over.
  for (int round = 0; last - first > 1; ++round) {
    if (round == 40) {
      std::nth_element(first, wanted, last, std::greater<>());
      break;
    }
    Candidate* const place = part(first, last, median(first, first + (last - first) / 2, last - 1));
    if (place == wanted) break;
    (place > wanted ? last : first) = place > wanted ? place : place + 1;
  }
  return score_of(*wanted);
}

void sort_best(Candidate* candidates, std::int64_t count) noexcept {
  std::sort(candidates, candidates + count, std::greater<>());
}

}  // namespace attend::kernels
