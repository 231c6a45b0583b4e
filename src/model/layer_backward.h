// The backward pass through one layer: to the stream that entered it and, where it learns, to its weights.
#pragma once

#include <attend/tensor.h>

#include "model/layer.h"

namespace attend::model {

// The gradients of weights are added to these. Not given: the weights do not learn.
struct LinearGradients {
  TensorView weight{}, bias{};
};
struct LayerGradients {
  LinearGradients projected{}, context{}, out{}, up{}, down{};
  NormGradients query_norm{}, key_norm{}, attention_norm{}, feed_forward_norm{};
  NormGradients attention_out_norm{}, feed_forward_out_norm{};
};

// Scratch memory of the backward pass, in addition to that of the forward pass.
struct BackwardRoom {
  TensorView d_read{};                    // (rows, E): of what a part reads, where that is a norm
  TensorView d_after{};                   // (rows, E): where the feed-forward part is parallel
  TensorView d_attended{};                // (rows, heads × size)
  TensorView d_projected{}, d_context{};  // as in LayerMemory
  HeadViews d_heads{};                    // views of the last three, like LayerMemory::heads
  TensorView d_product{};                 // (some rows, product_size)
  TensorView d_activated{};               // (some rows, size), with a gate
  TensorView factors{};                   // (2, E), where weights learn: for a norm
  TensorView sums{};                      // where weights learn: for add_linear_gradient()
  PackedAs as = PackedAs::f32;            // what add_linear_gradient() multiplies
};

struct LayerBackward {
  const LayerRun& run;  // whose memory forward() filled, with keep
  BackwardRoom room{};
  const LayerGradients* gradients = nullptr;

  // d: the gradient of out becomes that of x; d_source, of a cross layer, grows.
  void backward(ConstTensorView x, ConstTensorView source, TensorView d, TensorView d_source) const;

 private:
  template <class Part>
  void through_part(bool reads_its_norm, const NormWeights& norm, const NormGradients& norm_gradients,
                    const NormWeights& out_norm, const NormGradients& out_norm_gradients,
                    std::uint64_t stream, ConstTensorView x, ConstTensorView sum, ConstTensorView d_out,
                    TensorView d, const Part& part) const;
  void through_attention(ConstTensorView read, ConstTensorView source, ConstTensorView d_out,
                         TensorView d_read, ConstTensorView residual, TensorView d_source) const;
  void through_head_norms() const;
  void through_feed_forward(ConstTensorView read, ConstTensorView d_out, TensorView d_read,
                            ConstTensorView residual) const;
  void through_linear(const LinearWeights& weights, const LinearGradients& sums, ConstTensorView x,
                      ConstTensorView d_out, TensorView d_x, ConstTensorView residual = {}) const;
  const LayerGradients& learned() const;
};

}  // namespace attend::model
