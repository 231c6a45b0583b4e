// The best passages of a file of any length, in memory for as many as are wanted.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "score/score_lines.h"

namespace attend::score {

class BestPassages {
 public:
  // most: how many are kept; default: all.
  explicit BestPassages(std::optional<std::size_t> most) : most_(most) {}

  void add(ScoredText passage);
  // The best first, equal ones in the order of the file, NaN last.
  std::vector<ScoredText> take();

 private:
  std::optional<std::size_t> most_;
  std::vector<ScoredText> kept_;  // with a limit: a heap whose first is the worst
};

}  // namespace attend::score
