// The full product of lengths, head sizes and groups, the options taken in turn: `make test-full`.
#include <gtest/gtest.h>

#include "attention/grid.h"

namespace attend {
namespace {

TEST(FullGrid, EveryLengthHeadSizeAndGroup) {
  const std::vector<int> sizes = grid_knob_sizes();
  std::size_t turn = 0;
  for (int queries = 0; queries < sizes[kQueryKnob]; ++queries) {
    for (int keys = 0; keys < sizes[kKeyKnob]; ++keys) {
      for (int d = 0; d < sizes[kHeadSizeKnob]; ++d) {
        for (int group = 0; group < sizes[kGroupKnob]; ++group) {
          std::vector<int> row(sizes.size());
          std::size_t state = ++turn;
          for (std::size_t knob = 0; knob < sizes.size(); ++knob) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            row[knob] = static_cast<int>((state >> 33) % static_cast<std::size_t>(sizes[knob]));
          }
          row[kQueryKnob] = queries, row[kKeyKnob] = keys, row[kHeadSizeKnob] = d, row[kGroupKnob] = group;
          AttentionCase c = grid_case(row);
          c.seed = turn;
          expect_exact(c, 32);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
