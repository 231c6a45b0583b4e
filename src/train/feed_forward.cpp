#include "train/feed_forward.h"

#include <attend/gelu.h>
#include <attend/swiglu.h>

#include <algorithm>
#include <cmath>

namespace attend::train {
namespace {

double deviation(std::int64_t in) { return 1 / std::sqrt(static_cast<double>(in)); }

// Rows of a view that may be not given.
ConstTensorView some(ConstTensorView view, std::int64_t first, std::int64_t last) {
  return view.given() ? view.slice(0, first, last) : view;
}

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
  up_.forward(pass, x, first_rows(wide_, rows));
  for (std::int64_t first = 0; first < rows; first += kRows) {
    const std::int64_t last = std::min(rows, first + kRows);
    const TensorView activated = first_rows(pass.room.activated, last - first);
    activate(wide_.slice(0, first, last), activated);
    down_.forward(pass, activated, out.slice(0, first, last), some(residual, first, last));
  }
}

// What was activated is made again from what was not: a third less to keep, for a pass over it.
void FeedForward::backward(Pass& pass, ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                           ConstTensorView residual) {
  const std::int64_t rows = pass.rows.count();
  for (std::int64_t first = 0; first < rows; first += kRows) {
    const std::int64_t last = std::min(rows, first + kRows);
    backward_rows(pass, first, x.slice(0, first, last), d_out.slice(0, first, last),
                  d_x.slice(0, first, last), some(residual, first, last));
  }
}

void FeedForward::backward_rows(Pass& pass, std::int64_t first, ConstTensorView x, ConstTensorView d_out,
                                TensorView d_x, ConstTensorView residual) {
  const std::int64_t count = x.size(0);
  const TensorView wide = wide_.slice(0, first, first + count);
  const TensorView activated = first_rows(pass.room.activated, count);
  const TensorView d_wide = first_rows(pass.room.d_inner, count).slice(1, 0, width());
  activate(wide, activated);
  if (kind_ == FeedForwardKind::swiglu) {
    const TensorView d_activated = first_rows(pass.room.d_activated, count);
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
