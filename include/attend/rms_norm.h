// Normalisation by the root mean square over the last axis (Zhang and Sennrich 2019), and its gradients.
#pragma once

#include <attend/tensor.h>

namespace attend {

// out = x / sqrt(mean(x^2) + epsilon) gamma, row by row. x and out: one shape of rank 1 to 4, any strides;
// f32, bf16, f16 or f64; out may be x itself. gamma: (n), of any of these types, or not given (1). epsilon >=
// 0; a row of zeros with epsilon 0 has no norm and gives NaN.
void rms_norm(ConstTensorView x, ConstTensorView gamma, double epsilon, TensorView out);

// A gradient that is not wanted is a view that is not given. Gradients are written, not added to.
struct RmsNormGradients {
  TensorView x{};      // the shape and dtype of x
  TensorView gamma{};  // (n), of any floating type: the sum over all rows
};

// From x and gamma as rms_norm() read them and d_out, the gradient of its output, of the shape and dtype of
// x: d_x = r (g - x r^2 mean(g x)) + residual with g = d_out gamma and r = 1 / sqrt(mean(x^2) + epsilon), and
// d_gamma = sum of d_out x r. residual, of the shape and dtype of x, is what reaches x past the norm; or not
// given. d_x may be x, d_out or residual itself. The same bits with any number of threads.
void rms_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
                       const RmsNormGradients& gradients, ConstTensorView residual = {});

}  // namespace attend
