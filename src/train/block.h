// A block: its parts, each of which adds to the stream, and the norms around them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "train/attention_part.h"
#include "train/feed_forward.h"

namespace attend::train {

// What stands around a part f: x + f(norm(x)), or norm(x + f(x)). Dropout, in training, is of what f gives.
class Around {
 public:
  Around(Parameters& parameters, const std::string& name, const ModelShape& shape, std::uint64_t stream)
      : norm_(parameters, name + ".norm", shape), hidden_(shape.hidden), stream_(stream) {}

  void plan(Arena& arena, std::int64_t rows, bool norm_first) {
    if (!norm_first) arena.want(sum_, {rows, hidden_});
  }

  // f(x, out, residual): out = f(x) + residual.
  template <class F>
  void forward(Pass& pass, ConstTensorView x, TensorView out, const F& f);
  // f(x, d_out, d_x, residual): d_x = the gradient of f + residual. d: the gradient of out becomes that of x.
  template <class F>
  void backward(Pass& pass, ConstTensorView x, TensorView d, const F& f);

 private:
  Norm norm_;
  std::int64_t hidden_;
  std::uint64_t stream_;
  TensorView sum_{};  // (rows, E): before the norm, where that comes last
};

class Block {
 public:
  // Blocks of a decoder that has a source look at it between their other two parts. `stream` tells the
  // block's dropout from that of others.
  Block(Parameters& parameters, const std::string& name, const ModelShape& shape, bool causal, bool cross,
        std::uint64_t stream);

  // `out` stays until the way back; the rest is planned by plan_inside(), which blocks that are run again
  // may share.
  void plan_out(Arena& arena, std::int64_t rows) { arena.want(out_, {rows, hidden_}); }
  void plan_inside(Arena& arena, std::int64_t rows, std::int64_t source_rows);
  void plan_room(std::int64_t& panels, std::int64_t& gradient) const;

  // The stream that leaves the block, (rows, E).
  TensorView forward(Pass& pass, ConstTensorView x, ConstTensorView source);
  // After a forward() of the same x with nothing of the same memory in between. d: the gradient of what left
  // becomes that of x; d_source grows.
  void backward(Pass& pass, ConstTensorView x, ConstTensorView source, TensorView d, TensorView d_source);

  AttentionMoment self_moment(const Pass& pass) const { return self_.moment(pass); }
  std::optional<AttentionMoment> cross_moment(const Pass& pass) const {
    if (!cross_) return {};
    return cross_->moment(pass);
  }

 private:
  std::int64_t hidden_;
  bool norm_first_;
  AttentionPart self_;
  Around around_self_;
  std::optional<AttentionPart> cross_;
  std::optional<Around> around_cross_;
  FeedForward feed_forward_;
  Around around_feed_forward_;
  TensorView after_self_{}, after_cross_{}, out_{};  // (rows, E)
};

}  // namespace attend::train
