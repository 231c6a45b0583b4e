// Layer normalisation over the last axis (Ba, Kiros and Hinton 2016).
#pragma once

#include <attend/tensor.h>

namespace attend {

// The mean and 1 / sqrt(variance + epsilon) of each row, which is what a backward pass needs. Shape: that of
// x without its last axis; f32, or f64 where x is f64. Rows without elements have neither: NaN. Each may be
// not given.
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

}  // namespace attend
