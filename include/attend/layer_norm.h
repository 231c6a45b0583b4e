// Layer normalisation over the last axis (Ba, Kiros and Hinton 2016), and its gradients.
#pragma once

#include <attend/tensor.h>

namespace attend {

// The mean and 1 / sqrt(variance + epsilon) of each row, which is what a backward pass needs. Shape: that of
// x without its last axis; f32, or f64 where x is f64. Rows without elements have neither: NaN. Either may be
// left out.
struct LayerNormStateView {
  TensorView mean{};
  TensorView inverse_deviation{};
};

// out = (x - mean) / sqrt(variance + epsilon) gamma + beta, mean and variance being those of the row (the
// variance divides by n). x and out: one shape of rank 1 to 4, any strides; f32, bf16, f16 or f64; out may be
// x itself. gamma and beta: (n), of any of these types, or not given (1 and 0). epsilon >= 0; a row of
// variance and epsilon 0 has no norm and gives NaN.
void layer_norm(ConstTensorView x, ConstTensorView gamma, ConstTensorView beta, double epsilon,
                TensorView out, LayerNormStateView state = {});

// The same of x + residual, in one pass; residual has the shape and dtype of x. out may be either of them.
void add_layer_norm(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma, ConstTensorView beta,
                    double epsilon, TensorView out, LayerNormStateView state = {});

// A gradient that is not wanted is a view that is not given. Gradients are written, not added to.
struct LayerNormGradients {
  TensorView x{};              // the shape and dtype of x
  TensorView gamma{}, beta{};  // (n), of any floating type: sums over all rows
};

// From x and gamma as layer_norm() read them (for add_layer_norm() x is the sum, and d_x the gradient of
// both), and d_out, the gradient of its output, of the shape and dtype of x:
//   d_x = (g - mean(g) - y mean(g y)) / sqrt(variance + epsilon) + residual
//   with g = d_out gamma and y = (x - mean) / sqrt(variance + epsilon), means being those of the row
//   d_gamma = sum of d_out y and d_beta = sum of d_out over the rows
// residual, of the shape and dtype of x, is what reaches x past the norm, as in x + f(norm(x)); or not given.
// d_x may be x, d_out or residual itself. A row of d_x has the same bits whatever the other rows, and every
// gradient with any number of threads. The mean and the variance are recomputed: a mean that was rounded to
// f32 would cost digits where it is large.
void layer_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
                         const LayerNormGradients& gradients, ConstTensorView residual = {});

}  // namespace attend
