// Queries, keys and values as Python passes them: (L, D) for one head, (H, L, D) for one sequence, (B, H, L,
// D) for a batch, or packed (total, H, D). The library takes the last two; the first two get axes of size 1
// in front, which their results lose again.
#pragma once

#include <nanobind/nanobind.h>

#include <attend/attention.h>

#include "array.h"
#include "errors.h"
#include "results.h"

namespace attend_python {

class Lift {
 public:
  Lift(const Array& q, bool packed) : added_(packed ? 0 : attend::kMaxRank - q.rank()), rank_(q.rank()) {
    if (packed ? rank_ != 3 : rank_ < 2) {
      refuse_value("q has ", rank_,
                   packed ? " axes, expected three for packed sequences: (total, heads, d)"
                          : " axes, expected two to four: (queries, d), with heads and batch in front");
    }
  }

  attend::ConstTensorView up(const Array& array, const char* name) const {
    attend::ConstTensorView view = array.view();
    require_rank(array, name);
    for (int axis = 0; axis < added_; ++axis) view = view.with_axis(0);
    return view;
  }
  attend::TensorView up(const Array& array, const char* name, Access) const {
    attend::TensorView view = array.writable();
    require_rank(array, name);
    for (int axis = 0; axis < added_; ++axis) view = view.with_axis(0);
    return view;
  }
  // An array of one axis less than q, such as a row state.
  attend::ConstTensorView up_rows(const Array& array, const char* name) const {
    attend::ConstTensorView view = array.view();
    if (view.rank() != rank_ - 1)
      refuse_value(name, " has ", view.rank(), " axes, expected ", rank_ - 1,
                   ": one for each of q but the last");
    for (int axis = 0; axis < added_; ++axis) view = view.with_axis(0);
    return view;
  }

  attend::Dims down(attend::Dims shape) const {
    for (int axis = 0; axis < added_; ++axis) shape = shape.without(0);
    return shape;
  }
  attend::TensorView up(const Result& result) const {
    attend::TensorView view = result.view();
    for (int axis = 0; axis < added_; ++axis) view = view.with_axis(0);
    return view;
  }

  int added() const { return added_; }

 private:
  void require_rank(const Array& array, const char* name) const {
    if (array.rank() != rank_)
      refuse_value(name, " has ", array.rank(), " axes and q has ", rank_, ", expected the same number");
  }
  int added_, rank_;
};

// (max, sum), or None.
class RowStateArgument {
 public:
  explicit RowStateArgument(nb::handle pair) {
    if (pair.is_none()) return;
    if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2)
      refuse_type("row_state must be the RowState that attention() returned");
    max_.emplace(pair[0], "row_state.max");
    sum_.emplace(pair[1], "row_state.sum");
  }
  attend::ConstRowStateView view(const Lift& lift) const {
    if (!max_) return {};
    return {lift.up_rows(*max_, "row_state.max"), lift.up_rows(*sum_, "row_state.sum")};
  }

 private:
  std::optional<Array> max_, sum_;
};

// f64 computes in f64, everything else in f32.
inline attend::DType computing_type(attend::DType dtype) {
  return dtype == attend::DType::f64 ? dtype : attend::DType::f32;
}

// attend's own named tuples: RowState, WeightsSummary, ...
inline nb::object named_tuple(const char* name) { return nb::module_::import_("attend._results").attr(name); }

}  // namespace attend_python
