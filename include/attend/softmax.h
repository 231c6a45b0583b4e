// Softmax over the last axis.
#pragma once

#include <attend/tensor.h>

namespace attend {

// out = exp(x - max) / sum exp(x - max), row by row; a row of -inf gives 0. x and out: one shape of rank 1 to
// 4, any strides; f32, bf16, f16 or f64; out may be x itself.
void softmax(ConstTensorView x, TensorView out);

}  // namespace attend
