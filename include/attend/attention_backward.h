// The gradients of attention(), from its inputs, its output and its row state. The weights are recomputed
// tile by tile, so memory stays O(n).
#pragma once

#include <attend/attention.h>

namespace attend {

// A gradient that is not wanted is a view that is not given. Gradients are written, not added to.
struct AttentionGradients {
  TensorView q{}, k{}, v{};   // the shapes of q, k and v
  TensorView bias{};          // the shape of the bias as given: broadcast axes are summed over
  TensorView alibi_slopes{};  // (Hq)
  TensorView sinks{};         // (Hq)
};

// out and row_state: as attention() wrote them for the same inputs and options. d_out: the gradient of out,
// of its shape, in the dtype of q or the one that computes (f32; f64 for f64 queries, whose gradients come
// from the reference). An out stored in 16 bits is as good as its rounding; kept in f32 it costs nothing
// here.
//
// d_q, d_k and d_v: the dtype of q or the one that computes. d_bias: the dtype of the bias or the one that
// computes. d_alibi_slopes and d_sinks: the one that computes, or f64.
//
// A row without keys gives gradient 0, and the contents of a key that takes no part reach no gradient. The
// same input gives the same bits with any number of threads, and d_q, d_k and d_v of a sequence do not depend
// on the others of its batch.
void attention_backward(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                        const AttentionOptions& options, ConstTensorView out, ConstRowStateView row_state,
                        ConstTensorView d_out, const AttentionGradients& gradients);

}  // namespace attend
