// The way back through one layer.
#pragma once

#include <attend/attention.h>
#include <attend/model_config.h>
#include <attend/tensor.h>

#include <memory>

#include "model/pass_plan.h"
#include "model/weights.h"

namespace attend {

// What is kept of a pass through a layer. The rest, its sums and what stands before the activation, is
// computed again on the way back: three products more, and a third of the memory.
struct KeptLayer {
  Tensor hidden;  // (tokens, E): what entered the layer
  Tensor q, k, v, attended;
  RowState row_state;
};

class LayerGradient {
 public:
  LayerGradient(const ModelConfig& config, const PassPlan& plan, std::int64_t tokens);

  // d (tokens, E): the gradient of what leaves the layer becomes that of what entered it. d_attended (tokens,
  // H, D). norm_behind: the norm behind the layer, where there is one.
  void go_back(LayerKind kind, const TransformerLayer& layer, const TransposedLayer& transposed,
               const NormLayer* norm_behind, const KeptLayer& kept, TensorView d, TensorView d_attended);

 private:
  // The rows that a layer changes, of its own tensors and of those that come and go.
  struct Mine {
    ConstTensorView hidden, attended;
    TensorView d, middle, normed, end, before, inner, d_inner, d_wide, d_read;
  };
  Mine rows_of(const RowRange& rows, const KeptLayer& kept, TensorView d);
  void run_again(const TransformerLayer& layer, const Mine& mine, bool to_the_end) const;
  void back_to_wide(const TransposedLayer& transposed, const Mine& mine) const;
  void back_through_attention(LayerKind kind, const TransposedLayer& transposed, const KeptLayer& kept,
                              ConstTensorView d, TensorView d_attended);
  // d_x = the gradient of what queries, keys and values of these rows were made from, + residual. A cross
  // layer's source gets its own: d_source grows.
  void back_to_what_was_read(LayerKind kind, const TransposedLayer& transposed, TensorView d_x,
                             ConstTensorView residual, TensorView d_source);

  const ModelConfig& config_;
  const PassPlan& plan_;
  Tensor middle_;          // (tokens, E): the sum behind attention
  Tensor normed_;          // (tokens, E): its norm, which the feed-forward part reads
  Tensor end_;             // (tokens, E): the sum behind the feed-forward part
  Tensor before_, inner_;  // (tokens, wide), (tokens, I): before and behind the activation
  Tensor d_inner_, d_wide_, d_qkv_, d_read_;
};

}  // namespace attend
