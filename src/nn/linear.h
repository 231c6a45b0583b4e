// A linear layer, out = x w + bias, forward and backward.
#pragma once

#include <attend/tensor.h>

#include "base/detail.h"

namespace attend::detail {

// x (..., in) of rank 2 to 4, w (in, out), bias (out) or not given, out (..., out). Any strides; all f32, or
// all f64, which is the reference. Each row of out has the same bits whatever the other rows and the number
// of threads. out overlaps no input.
void linear(ConstTensorView x, ConstTensorView w, ConstTensorView bias, TensorView out);

// d_x = d_out w^T, d_w = x^T d_out and d_bias = sum of d_out over the rows, in float64 from and to any
// floating types. One that is not wanted is not given; x is looked at for d_w only and w for d_x only.
void linear_backward(ConstTensorView x, ConstTensorView w, ConstTensorView d_out, TensorView d_x,
                     TensorView d_w, TensorView d_bias);

}  // namespace attend::detail
