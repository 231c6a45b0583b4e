// copy() of floating types, but by vectors and on all threads: the way into and out of the form that kernels
// compute in.
#pragma once

#include <attend/tensor.h>

namespace attend {

void convert_rows(ConstTensorView from, TensorView to);

}  // namespace attend
