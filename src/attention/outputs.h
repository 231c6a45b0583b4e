// Where the results of a checked attention call go: output and row state, in the form a kernel writes.
#pragma once

#include "attention/problem.h"

namespace attend::detail {

template <Element T>
class Outputs {
 public:
  Outputs(const Layout& layout, TensorView out, RowStateView row_state)
      : layout_(layout),
        out_(out),
        max_(row_state.max),
        sum_(row_state.sum),
        out_place_(out_, layout.packed),
        keeps_state_(row_state.max.given()) {
    if (!keeps_state_) return;
    max_place_ = Placement(max_, layout.packed);
    sum_place_ = Placement(sum_, layout.packed);
  }

  kernels::HeadOutput<T> head(std::int64_t s, std::int64_t h) const {
    const std::int64_t row = layout_.sequences[static_cast<std::size_t>(s)].query_begin;
    kernels::HeadOutput<T> target;
    target.out = out_.at(out_place_.offset(s, row, h));
    target.out_stride = layout_.dv == 0 ? 0 : out_place_.row_stride;
    if (keeps_state_) {
      target.max = max_.at(max_place_.offset(s, row, h));
      target.sum = sum_.at(sum_place_.offset(s, row, h));
      target.max_stride = max_place_.row_stride;
      target.sum_stride = sum_place_.row_stride;
    }
    return target;
  }

  void deliver() const {
    out_.deliver();
    max_.deliver();
    sum_.deliver();
  }

 private:
  const Layout& layout_;
  StagedOutput<T> out_, max_, sum_;
  Placement out_place_, max_place_, sum_place_;
  bool keeps_state_;
};

}  // namespace attend::detail
