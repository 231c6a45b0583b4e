// The matrix product behind matmul() and linear(), for tensors that were checked: packing, the cut into
// blocks, storage types and strides.
#pragma once

#include <attend/matmul.h>

namespace attend {

// w (k, n) of f32, bf16 or f16 as panels (n / 16 rounded up, k, 16) of f32; columns beyond n are 0.
void pack_panels(ConstTensorView w, TensorView panels);

// The panels of w (k, n) as those of its transpose, which is (n, k).
Tensor transpose_panels(ConstTensorView panels, std::int64_t k, std::int64_t n);

// out = activation(a w + bias) + residual, as in matmul().
void multiply_packed(ConstTensorView a, const PackedMatrix& w, TensorView out,
                     const MatmulEpilogue& epilogue);

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
    view = View(view.raw(), view.dtype(), shape, view.strides().without(axis));
  }
  return view;
}

}  // namespace attend
