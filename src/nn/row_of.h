// A vector of weights as a kernel reads it.
#pragma once

#include <attend/tensor.h>

#include "base/detail.h"

namespace attend::detail {

// A view of rank 1 as contiguous numbers: where they lie if they are that already, a copy otherwise. data()
// is null for a view that is not given.
template <class Number>
class RowOf {
 public:
  explicit RowOf(ConstTensorView view) {
    if (!view.given()) return;
    const bool direct = view.dtype() == dtype_of<Number>() && (view.stride(0) == 1 || view.size(0) <= 1);
    if (!direct) copy_ = copy_of(view, dtype_of<Number>());
    data_ = direct ? view.data<Number>() : static_cast<const Tensor&>(copy_).values<Number>().data();
  }
  RowOf(const RowOf&) = delete;
  RowOf& operator=(const RowOf&) = delete;

  const Number* data() const noexcept { return data_; }

 private:
  Tensor copy_;
  const Number* data_ = nullptr;
};

}  // namespace attend::detail
