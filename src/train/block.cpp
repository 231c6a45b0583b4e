#include "train/block.h"

#include <attend/dropout.h>

namespace attend::train {
namespace {

// The streams of a block's dropouts: its parts', then those of their weights.
constexpr std::uint64_t kSelf = 0, kCross = 1, kFeedForward = 2, kSelfWeights = 3, kCrossWeights = 4;

bool drops(const Pass& pass) { return pass.training && pass.shape.dropout > 0; }

}  // namespace

template <class F>
void Around::forward(Pass& pass, ConstTensorView x, TensorView out, const F& f) {
  const std::int64_t rows = pass.rows.count();
  ConstTensorView read = x;
  if (pass.shape.norm_first) {
    const TensorView normed = first_rows(pass.room.normed, rows);
    norm_.forward(pass, x, normed);
    read = normed;
  }
  const TensorView sum = pass.shape.norm_first ? out : first_rows(sum_, rows);
  if (drops(pass)) {
    const TensorView branch = first_rows(pass.room.branch, rows);
    f(read, branch, ConstTensorView());
    dropout(branch, {.probability = pass.shape.dropout, .seed = pass.seed, .stream = stream_}, branch);
    add(x, branch, sum);
  } else {
    f(read, sum, x);
  }
  if (!pass.shape.norm_first) norm_.forward(pass, sum, out);
}

template <class F>
void Around::backward(Pass& pass, ConstTensorView x, TensorView d, const F& f) {
  const std::int64_t rows = pass.rows.count();
  if (!pass.shape.norm_first) norm_.backward(pass, first_rows(sum_, rows), d, d);
  ConstTensorView d_branch = d;
  if (drops(pass)) {
    const TensorView branch = first_rows(pass.room.branch, rows);
    dropout(d, {.probability = pass.shape.dropout, .seed = pass.seed, .stream = stream_}, branch);
    d_branch = branch;
  }
  const TensorView d_read = first_rows(pass.room.d_normed, rows);
  if (pass.shape.norm_first) {
    const TensorView normed = first_rows(pass.room.normed, rows);
    norm_.forward(pass, x, normed);
    f(normed, d_branch, d_read, ConstTensorView());
    norm_.backward(pass, x, d_read, d, d);
  } else {
    f(x, d_branch, d_read, d);
    copy(d_read, d);
  }
}

Block::Block(Parameters& parameters, const std::string& name, const ModelShape& shape, bool causal,
             bool cross, std::uint64_t stream)
    : hidden_(shape.hidden),
      norm_first_(shape.norm_first),
      self_(parameters, name + ".attention", shape, AttentionPart::From::itself, causal,
            stream + kSelfWeights),
      around_self_(parameters, name + ".attention", shape, stream + kSelf),
      feed_forward_(parameters, name + ".feed_forward", shape),
      around_feed_forward_(parameters, name + ".feed_forward", shape, stream + kFeedForward) {
  if (!cross) return;
  cross_.emplace(parameters, name + ".cross", shape, AttentionPart::From::source, false,
                 stream + kCrossWeights);
  around_cross_.emplace(parameters, name + ".cross", shape, stream + kCross);
}

void Block::plan_inside(Arena& arena, std::int64_t rows, std::int64_t source_rows) {
  self_.plan(arena, rows, source_rows);
  around_self_.plan(arena, rows, norm_first_);
  arena.want(after_self_, {rows, hidden_});
  if (cross_) {
    cross_->plan(arena, rows, source_rows);
    around_cross_->plan(arena, rows, norm_first_);
    arena.want(after_cross_, {rows, hidden_});
  }
  feed_forward_.plan(arena, rows);
  around_feed_forward_.plan(arena, rows, norm_first_);
}

void Block::plan_room(std::int64_t& panels, std::int64_t& gradient) const {
  self_.plan_room(panels, gradient);
  if (cross_) cross_->plan_room(panels, gradient);
  feed_forward_.plan_room(panels, gradient);
}

TensorView Block::forward(Pass& pass, ConstTensorView x, ConstTensorView source) {
  const std::int64_t rows = pass.rows.count();
  TensorView middle = first_rows(after_self_, rows);
  around_self_.forward(pass, x, middle, [&](ConstTensorView read, TensorView out, ConstTensorView residual) {
    self_.forward(pass, read, {}, out, residual);
  });
  if (cross_) {
    const TensorView after = first_rows(after_cross_, rows);
    around_cross_->forward(pass, middle, after,
                           [&](ConstTensorView read, TensorView out, ConstTensorView residual) {
                             cross_->forward(pass, read, source, out, residual);
                           });
    middle = after;
  }
  const TensorView out = first_rows(out_, rows);
  around_feed_forward_.forward(pass, middle, out,
                               [&](ConstTensorView read, TensorView to, ConstTensorView residual) {
                                 feed_forward_.forward(pass, read, to, residual);
                               });
  return out;
}

void Block::backward(Pass& pass, ConstTensorView x, ConstTensorView source, TensorView d,
                     TensorView d_source) {
  const std::int64_t rows = pass.rows.count();
  const TensorView after_self = first_rows(after_self_, rows);
  const TensorView middle = cross_ ? first_rows(after_cross_, rows) : after_self;
  around_feed_forward_.backward(
      pass, middle, d,
      [&](ConstTensorView read, ConstTensorView d_out, TensorView d_read, ConstTensorView residual) {
        feed_forward_.backward(pass, read, d_out, d_read, residual);
      });
  if (cross_) {
    around_cross_->backward(
        pass, after_self, d,
        [&](ConstTensorView read, ConstTensorView d_out, TensorView d_read, ConstTensorView residual) {
          cross_->backward(pass, read, source, d_out, d_read, residual, d_source);
        });
  }
  around_self_.backward(
      pass, x, d,
      [&](ConstTensorView read, ConstTensorView d_out, TensorView d_read, ConstTensorView residual) {
        self_.backward(pass, read, {}, d_out, d_read, residual, {});
      });
}

}  // namespace attend::train
