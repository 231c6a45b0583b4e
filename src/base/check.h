// What every operation asks of its tensors before it touches them.
#pragma once

#include <attend/tensor.h>

#include <initializer_list>

#include "base/detail.h"
#include "base/error.h"
#include "base/overlap.h"

namespace attend::detail {

struct NamedView {
  const char* name;
  ConstTensorView view;
};

// Given, floating, and of a rank in [lowest, highest].
inline void require_floats(const char* operation, const NamedView& tensor, int lowest, int highest) {
  const auto& [name, view] = tensor;
  if (!view.given()) refuse(operation, name, " is not given");
  if (!is_float(view.dtype())) {
    refuse(operation, name, " is ", name_of(view.dtype()), ", expected a floating type");
  }
  if (view.rank() >= lowest && view.rank() <= highest) return;
  if (lowest == highest) {
    refuse(operation, name, " has shape ", to_string(view.shape()), ", expected ", lowest, " dimensions");
  }
  refuse(operation, name, " has shape ", to_string(view.shape()), ", expected ", lowest, " to ", highest,
         " dimensions");
}

inline void require_shape(const char* operation, const NamedView& tensor, const Dims& shape) {
  require_floats(operation, tensor, 0, kMaxRank);
  if (tensor.view.shape() != shape) {
    refuse(operation, tensor.name, " has shape ", to_string(tensor.view.shape()), ", expected ",
           to_string(shape));
  }
}

inline void require_dtype_of(const char* operation, const NamedView& tensor, const NamedView& other) {
  if (tensor.view.dtype() != other.view.dtype()) {
    refuse(operation, tensor.name, " is ", name_of(tensor.view.dtype()), ", expected ",
           name_of(other.view.dtype()), " as ", other.name);
  }
}

// An output has an element for each index, and shares none with an input.
inline void require_writable(const char* operation, const NamedView& out,
                             std::initializer_list<NamedView> inputs) {
  if (may_repeat_elements(out.view)) {
    refuse(operation, out.name, " has strides ", to_string(out.view.strides()), " for shape ",
           to_string(out.view.shape()), ", so several of its elements share one place");
  }
  for (const NamedView& input : inputs) {
    if (overlaps(out.view, input.view)) refuse(operation, out.name, " overlaps ", input.name, " in memory");
  }
}

// The same, where out may be x itself: element i is read before it is written.
inline void require_writable_in_place(const char* operation, const NamedView& out, const NamedView& x) {
  if (same_elements(out.view, x.view)) {
    require_writable(operation, out, {});
  } else {
    require_writable(operation, out, {x});
  }
}

}  // namespace attend::detail
