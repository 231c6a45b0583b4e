// What a layer is made of besides its products and its attention, in the forms that families have, and back.
#pragma once

#include <attend/model_config.h>
#include <attend/tensor.h>

#include "model/weights.h"

namespace attend {

// LayerNorm or RMSNorm; out may be x.
void normalise(const ModelConfig& config, const NormLayer& norm, ConstTensorView x, TensorView out);
// d_x = the gradient of x from d_out, + residual; d_x may be either.
void normalise_backward(const ModelConfig& config, const NormLayer& norm, ConstTensorView x,
                        ConstTensorView d_out, TensorView d_x, ConstTensorView residual = {});

// How wide what the first product of a feed-forward part gives is: twice the inner size where one half is a
// gate.
std::int64_t wide_size(const ModelConfig& config);

// out = the activation of wide (rows, wide_size), (rows, inner). f32.
void activate(const ModelConfig& config, ConstTensorView wide, TensorView out);
// d_out (rows, inner) becomes d_wide (rows, wide_size); without a gate both may be one.
void activate_backward(const ModelConfig& config, ConstTensorView wide, ConstTensorView d_out,
                       TensorView d_wide);

}  // namespace attend
