// The sum of two tensors.
#pragma once

#include <attend/tensor.h>

namespace attend {

// out = a + b, element by element. One shape of rank 1 to 4 and one type, f32, bf16, f16 or f64; any strides;
// out may be either of them.
void add(ConstTensorView a, ConstTensorView b, TensorView out);

}  // namespace attend
