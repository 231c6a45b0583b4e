// A golden case of torch.nn.MultiheadAttention in attend's terms.
//
// Three things differ. Weights are (out, in) there: they are seen transposed. A boolean mask is true where a
// key is left out there: it is negated. Keys and values may come from different tensors there: here one
// context has the columns of both, and each of wk and wv has rows of zeros for the other's columns.
#pragma once

#include <attend/multi_head.h>

#include <string>

#include "conformance/golden_file.h"

namespace attend {

// Views into the case, which must outlive it.
class TorchModule {
 public:
  explicit TorchModule(const GoldenCase& inputs);
  TorchModule(const TorchModule&) = delete;
  TorchModule& operator=(const TorchModule&) = delete;

  ConstTensorView x() const { return x_; }
  ConstTensorView context() const { return context_; }
  const MultiHeadWeights& weights() const { return weights_; }
  std::int64_t heads() const { return heads_; }
  const AttentionOptions& options() const { return options_; }

  // One of the three projections, 'q', 'k' or 'v', as (in, out), and its bias; of the parameters with prefix
  // "" and of their gradients with prefix "d_". A bias that the module does not have is not given.
  static ConstTensorView projection(const GoldenCase& golden, const std::string& prefix, char which);
  static ConstTensorView projection_bias(const GoldenCase& golden, const std::string& prefix, char which);

  // The part of something with an axis of context columns that belongs to the keys, and to the values.
  ConstTensorView key_columns(ConstTensorView view, int axis) const { return view.slice(axis, 0, key_end_); }
  ConstTensorView value_columns(ConstTensorView view, int axis) const {
    return view.slice(axis, value_begin_, view.size(axis));
  }

 private:
  void join_keys_and_values(const GoldenCase& inputs);
  void read_masks(const GoldenCase& inputs);

  ConstTensorView x_, context_;
  MultiHeadWeights weights_;
  std::int64_t heads_ = 0;
  AttentionOptions options_;
  std::int64_t key_end_ = 0, value_begin_ = 0;
  Tensor joined_context_, joined_wk_, joined_wv_, mask_;
};

}  // namespace attend
