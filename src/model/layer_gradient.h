// The way back through one layer.
#pragma once

#include <attend/attention.h>
#include <attend/model_config.h>
#include <attend/tensor.h>

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
  LayerGradient(const ModelConfig& config, const AttentionOptions& options, std::int64_t tokens);

  // d (tokens, E): the gradient of what leaves the layer becomes that of what entered it. d_attended (tokens,
  // H, D). final_norm: the norm behind the layer, where there is one.
  void go_back(const TransformerLayer& layer, const TransposedLayer& transposed, const NormLayer* final_norm,
               const KeptLayer& kept, TensorView d, TensorView d_attended);

 private:
  void run_again(const TransformerLayer& layer, const KeptLayer& kept, bool to_the_end);
  void back_to_inner(const TransposedLayer& transposed, ConstTensorView d);
  void back_through_attention(const TransposedLayer& transposed, const KeptLayer& kept, ConstTensorView d,
                              TensorView d_attended);

  const ModelConfig& config_;
  const AttentionOptions& options_;
  Tensor middle_;          // (tokens, E): the sum behind attention
  Tensor normed_;          // (tokens, E): its norm, which the feed-forward part reads
  Tensor end_;             // (tokens, E): the sum behind the feed-forward part
  Tensor before_, inner_;  // (tokens, I): before and behind the activation
  Tensor d_inner_, d_qkv_, d_read_;
};

}  // namespace attend
