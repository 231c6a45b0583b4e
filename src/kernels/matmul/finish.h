// What becomes of the sums of a product, whatever they were made from.
#pragma once

#include <attend/activation.h>
#include <attend/dtype.h>

#include <cstdint>

namespace attend::kernels {

// out = activation(sums + bias) + residual.
struct MatmulFinish {
  const float* bias = nullptr;  // (columns) or null
  Activation activation = Activation::none;
  const float* residual = nullptr;  // (rows, columns) or null; may be out
  std::int64_t residual_row = 0;
  float* out = nullptr;  // (rows, columns), overlaps nothing else
  // In its place, rounded to nearest, where the caller keeps 16 bits; subnormal numbers may become 0, which
  // is what products of bf16 take them for.
  bfloat16* out_bf16 = nullptr;
  std::int64_t out_row = 0;
};

}  // namespace attend::kernels
