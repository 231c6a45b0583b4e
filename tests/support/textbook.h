// A second opinion on the reference: attention with the whole n x n matrix in memory, written from the
// definition of the options and sharing no code with the library. Small sizes only.
#pragma once

#include <attend/attention.h>

#include <vector>

namespace attend {

struct Textbook {
  // One entry per (sequence, head, query), keys side by side: (S, H, longest Lq, longest Lk) with unused
  // places left 0.
  std::vector<double> scores, capped, biased, weights;
  Tensor output;    // as attention() gives it, f64
  Tensor max, sum;  // its row state
};

Textbook textbook_attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                            const AttentionOptions& options);

}  // namespace attend
