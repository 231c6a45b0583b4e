// The part of a block in which each token thinks for itself: out, widened, activated, and back.
#pragma once

#include <string>

#include "train/layers.h"

namespace attend::train {

class FeedForward {
 public:
  FeedForward(Parameters& parameters, const std::string& name, const ModelShape& shape);

  void plan(Arena& arena, std::int64_t rows) { arena.want(wide_, {rows, width()}); }
  void plan_room(std::int64_t& panels, std::int64_t& gradient) const;

  // As AttentionPart's, without a source.
  void forward(Pass& pass, ConstTensorView x, TensorView out, ConstTensorView residual);
  void backward(Pass& pass, ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                ConstTensorView residual);

  // Rows that are activated together: the widest tensors of a model then take a quarter of the memory for a
  // batch of 4096 tokens, and stay in the outer cache.
  static constexpr std::int64_t kRows = 1024;

 private:
  void backward_rows(Pass& pass, std::int64_t first, ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                     ConstTensorView residual);
  std::int64_t width() const { return (kind_ == FeedForwardKind::swiglu ? 2 : 1) * inner_; }
  void activate(TensorView wide, TensorView out) const;

  FeedForwardKind kind_;
  std::int64_t inner_;
  Linear up_, down_;
  TensorView wide_{};  // (rows, I): before the activation; with SwiGLU (rows, 2 I), the gate first
};

}  // namespace attend::train
