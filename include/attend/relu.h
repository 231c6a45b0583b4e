// ReLU, element by element, and its gradient.
#pragma once

#include <attend/tensor.h>

namespace attend {

// out = x where that is not negative, else 0; NaN stays NaN. x and out: one shape of rank 1 to 4, any
// strides; f32, bf16, f16 or f64; out may be x itself.
void relu(ConstTensorView x, TensorView out);

// d_x = d_out where x > 0, else 0. x, d_out and d_x: one shape and type, as x of relu(); d_x may be x or
// d_out itself.
void relu_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x);

}  // namespace attend
