// What a layer computes besides its products and its attention, in every form that the families use, forward
// and backward. f32 or f64.
#pragma once

#include <attend/model_description.h>
#include <attend/tensor.h>

namespace attend::model {

struct NormWeights {
  ConstTensorView gamma{}, beta{};  // RMSNorm has no beta
};
// The gradients of a norm are added to these. Not given: the norm does not learn.
struct NormGradients {
  TensorView gamma{}, beta{};
};

// out may be x.
void normalise(const NormDescription& norm, const NormWeights& weights, ConstTensorView x, TensorView out);
// d_x = the gradient of x from d_out, + residual; d_x may be either. room (2, n): scratch memory, needed when
// there are gradients.
void normalise_backward(const NormDescription& norm, const NormWeights& weights, ConstTensorView x,
                        ConstTensorView d_out, TensorView d_x, ConstTensorView residual = {},
                        const NormGradients& gradients = {}, TensorView room = {});

// How many columns the first product of a feed-forward part has: twice its size where it has a gate.
std::int64_t product_size(const FeedForwardDescription& part);

// out = the activation of product (rows, product_size), (rows, size). With a gate out may be its first half,
// without one the product itself.
void activate(const FeedForwardDescription& part, ConstTensorView product, TensorView out);
// d_out (rows, size) becomes d_product (rows, product_size); without a gate the two may be the same memory.
void activate_backward(const FeedForwardDescription& part, ConstTensorView product, ConstTensorView d_out,
                       TensorView d_product);

}  // namespace attend::model
