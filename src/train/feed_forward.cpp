#include "train/feed_forward.h"

#include <attend/gelu.h>
#include <attend/swiglu.h>

#include <cmath>

namespace attend::train {
namespace {

double deviation(std::int64_t in) { return 1 / std::sqrt(static_cast<double>(in)); }

}  // namespace

FeedForward::FeedForward(Parameters& parameters, const std::string& name, const ModelShape& shape)
    : kind_(shape.feed_forward),
      inner_(shape.inner),
      up_(parameters, name + ".up", shape.hidden, width(), deviation(shape.hidden)),
      down_(parameters, name + ".down", shape.inner, shape.hidden,
            deviation(shape.inner) / std::sqrt(2.0 * static_cast<double>(shape.layers))) {}

void FeedForward::plan_room(std::int64_t& panels, std::int64_t& gradient) const {
  up_.plan(panels, gradient);
  down_.plan(panels, gradient);
}

void FeedForward::activate(TensorView wide, TensorView out) const {
  switch (kind_) {
    case FeedForwardKind::gelu:
      return gelu(wide, out);
    case FeedForwardKind::gelu_tanh:
      return gelu_tanh(wide, out);
    case FeedForwardKind::swiglu:
      return swiglu(wide.slice(1, 0, inner_), wide.slice(1, inner_, 2 * inner_), out);
  }
}

void FeedForward::forward(Pass& pass, ConstTensorView x, TensorView out, ConstTensorView residual) {
  const std::int64_t rows = pass.rows.count();
  const TensorView wide = first_rows(wide_, rows), activated = first_rows(pass.room.activated, rows);
  up_.forward(pass, x, wide);
  activate(wide, activated);
  down_.forward(pass, activated, out, residual);
}

// What was activated is made again from what was not: a third less to keep, for a pass over it.
void FeedForward::backward(Pass& pass, ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                           ConstTensorView residual) {
  const std::int64_t rows = pass.rows.count();
  const TensorView wide = first_rows(wide_, rows), activated = first_rows(pass.room.activated, rows);
  const TensorView d_wide = first_rows(pass.room.d_inner, rows).slice(1, 0, width());
  activate(wide, activated);
  if (kind_ == FeedForwardKind::swiglu) {
    const TensorView d_activated = first_rows(pass.room.d_activated, rows);
    down_.backward(pass, activated, d_out, d_activated);
    swiglu_backward(wide.slice(1, 0, inner_), wide.slice(1, inner_, 2 * inner_), d_activated,
                    d_wide.slice(1, 0, inner_), d_wide.slice(1, inner_, 2 * inner_));
  } else {
    down_.backward(pass, activated, d_out, d_wide);
    kind_ == FeedForwardKind::gelu ? gelu_backward(wide, d_wide, d_wide)
                                   : gelu_tanh_backward(wide, d_wide, d_wide);
  }
  up_.backward(pass, x, d_wide, d_x, residual);
}

}  // namespace attend::train
