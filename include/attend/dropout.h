// Dropout (Srivastava et al. 2014). Which elements are dropped follows from a seed, so nothing has to be kept
// for the backward pass.
#pragma once

#include <cstdint>

#include <attend/tensor.h>

namespace attend {

// Each element becomes 0 with this probability and is divided by 1 - probability otherwise. Which ones is a
// function of (seed, stream, number of the row, place in it) alone, on every machine and with any number of
// threads. The gradient is the same call on d_out.
struct Dropout {
  double probability = 0;  // from 0 to below 1
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;  // distinguishes places in a model
};

// x and out: one shape of rank 1 to 4, any strides; f32, bf16, f16 or f64; out may be x itself.
void dropout(ConstTensorView x, const Dropout& dropout, TensorView out);

}  // namespace attend
