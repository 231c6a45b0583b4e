// GELU, element by element, and its gradients.
#pragma once

#include <attend/tensor.h>

namespace attend {

// out = x Phi(x), Phi being the normal distribution function. x and out: one shape of rank 1 to 4, any
// strides; f32, bf16, f16 or f64; out may be x itself. Below about -13 the f32 result is 0; that of -inf is
// NaN, as 0 x infinity is.
void gelu(ConstTensorView x, TensorView out);

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, its approximation, which some models were trained with.
void gelu_tanh(ConstTensorView x, TensorView out);

// d_x = d_out gelu'(x), element by element. x, d_out and d_x: one shape and type, as x of gelu(); d_x may be
// x or d_out itself. At infinity the slope is its limit, 0 or 1.
void gelu_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x);
void gelu_tanh_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x);

}  // namespace attend
