// The gradients of a linear layer out = x w + bias, added to what is there: a step is made of several
// batches, and a batch of several pieces.
#pragma once

#include <attend/matmul.h>
#include <attend/tensor.h>

#include <cstdint>

#include "base/detail.h"

namespace attend::detail {

// d_w += x^T d_out and d_bias += the sum of d_out over the rows. x (rows, in), d_out (rows, out), d_w (in,
// out), d_bias (out) or not given; any strides; all f32, or all f64, which is the reference. The same bits
// with any number of threads. Outputs overlap nothing else.
//
// room: f32, contiguous, 64-byte aligned, of linear_gradient_room(in, out) elements or more; not looked at
// for f64. as: f32, or bf16, in which x and d_out are then multiplied; sums, and all of d_bias, are f32.
void add_linear_gradient(ConstTensorView x, ConstTensorView d_out, TensorView d_w, TensorView d_bias,
                         TensorView room, PackedAs as = PackedAs::f32);
std::int64_t linear_gradient_room(std::int64_t in, std::int64_t out);

// All gradients of out = x w + bias, written and not added: d_x = d_out w^T, d_w = x^T d_out, d_bias = the
// sum of d_out over the rows. x (..., in) of rank 2 to 4, w (in, out), d_out (..., out); any strides; all
// f32, or all f64, which is the reference. One that is not wanted is not given. The same bits with any number
// of threads. Outputs overlap nothing else. It takes memory of its own, which add_linear_gradient() does not.
void linear_gradients(ConstTensorView x, ConstTensorView w, ConstTensorView d_out, TensorView d_x,
                      TensorView d_w, TensorView d_bias);

}  // namespace attend::detail
