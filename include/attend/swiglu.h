// SwiGLU (Shazeer 2020): a gate that lets some of a vector through, and its gradients.
#pragma once

#include <attend/tensor.h>

namespace attend {

// out = gate sigmoid(gate) up, element by element. One shape of rank 1 to 4 and one type, f32, bf16, f16 or
// f64; any strides, so that gate and up may be the halves of one product. out may be either of them.
void swiglu(ConstTensorView gate, ConstTensorView up, TensorView out);

// d_gate = d_out up s (1 + gate (1 - s)) and d_up = d_out gate s with s = sigmoid(gate). All of one shape and
// type; d_gate and d_up overlap nothing else.
void swiglu_backward(ConstTensorView gate, ConstTensorView up, ConstTensorView d_out, TensorView d_gate,
                     TensorView d_up);

}  // namespace attend
