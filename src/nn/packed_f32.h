// Matrices packed as f32: panels of 16 columns, (n / 16 rounded up, k, 16), columns beyond n being 0.
#pragma once

#include "nn/packed_format.h"

namespace attend::detail {

extern const PackedFormat kPackedF32;

// Floats rounded up to whole cache lines, so that what follows them begins on one.
inline std::int64_t whole_lines(std::int64_t floats) { return (floats + 15) / 16 * 16; }

// (A, B, L, E) -> (A * B * L, E), so far as the rows are evenly spaced in memory.
template <class View>
View with_merged_rows(View view) {
  while (view.rank() > 2) {
    const int axis = view.rank() - 3;
    if (view.stride(axis) != view.stride(axis + 1) * view.size(axis + 1)) break;
    Dims shape = view.shape().without(axis);
    shape[axis] = view.size(axis) * view.size(axis + 1);
    view = view.with_layout(shape, view.strides().without(axis));
  }
  return view;
}

}  // namespace attend::detail
