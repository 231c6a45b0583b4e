// The judge: plain float64 loops for everything, forward and backward. Inputs of any floating dtype are
// widened exactly, so the result is that of the very numbers the fast path was given. Slow on purpose; O(n)
// memory all the same.
//
// A gradient that is not wanted is a view that is not given. Gradients are written, not added to. d_x has the
// shape of x.
#pragma once

#include <span>

#include <attend/layer_norm.h>
#include <attend/matmul.h>
#include <attend/multi_head.h>
#include <attend/positions.h>
#include <attend/reference_attention.h>

namespace attend::reference {

// As attend::matmul, for any mixture of floating dtypes.
void matmul(ConstTensorView a, ConstTensorView w, TensorView out, const MatmulEpilogue& epilogue = {});

// As attend::layer_norm and attend::add_layer_norm; residual is optional.
void layer_norm(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma, ConstTensorView beta,
                double epsilon, TensorView out);

// As attend::layer_norm_backward.
void layer_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
                         const LayerNormGradients& gradients, ConstTensorView residual = {});

// As attend::gelu and attend::gelu_tanh.
void gelu(ConstTensorView x, TensorView out);
void gelu_tanh(ConstTensorView x, TensorView out);

// As attend::gelu_backward and attend::gelu_tanh_backward.
void gelu_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x);
void gelu_tanh_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x);

// d_x = weights (d_weights - sum(d_weights weights)), row by row over the last axis.
void softmax_backward(ConstTensorView weights, ConstTensorView d_weights, TensorView d_x);

// Of softmax(X X^T) X, where X is query, key and value at once.
void self_attention_backward(ConstTensorView x, ConstTensorView d_output, TensorView d_x);

// As attend::multi_head_attention_backward, for any mixture of floating dtypes.
using attend::MultiHeadGradients;
void multi_head_attention_backward(ConstTensorView x, ConstTensorView context,
                                   const MultiHeadWeights& weights, std::int64_t heads,
                                   const AttentionOptions& options, ConstTensorView d_out,
                                   const MultiHeadGradients& gradients);

// Of the table; the gradient of x is d_out itself.
void learned_positions_backward(ConstTensorView d_out, std::span<const std::int64_t> positions,
                                TensorView d_table);

// Of the bucket table, from the gradient of the bias (H, Lq, Lk).
void relative_bias_backward(ConstTensorView d_bias, const RelativeBuckets& shape, std::int64_t query_offset,
                            TensorView d_table);

}  // namespace attend::reference
