// A row state that the caller kept, handed to kernels one head at a time, or its absence.
#pragma once

#include "attention/problem.h"
#include "kernels/attention/weights.h"

namespace attend::detail {

template <Element T>
class GivenRowState {
 public:
  GivenRowState(ConstRowStateView state, bool packed) : given_(state.max.given()) {
    if (!given_) return;
    max_ = state.max.data<T>();
    sum_ = state.sum.data<T>();
    max_place_ = Placement(state.max, packed);
    sum_place_ = Placement(state.sum, packed);
  }

  kernels::RowStateInput<T> of(std::int64_t sequence, std::int64_t first_row, std::int64_t head) const {
    if (!given_) return {};
    return {max_ + max_place_.offset(sequence, first_row, head),
            sum_ + sum_place_.offset(sequence, first_row, head), max_place_.row_stride,
            sum_place_.row_stride};
  }

 private:
  bool given_;
  const T* max_ = nullptr;
  const T* sum_ = nullptr;
  Placement max_place_, sum_place_;
};

}  // namespace attend::detail
