// A layer of gated recurrent units over whole sequences, and its backward pass through time. In PyTorch's
// form: one bias for the input and one for the state, the reset gate after the product.
#pragma once

#include <attend/matmul.h>
#include <attend/tensor.h>

#include <cstdint>

#include "base/detail.h"

namespace attend::detail {

// (in, 3 E), (E, 3 E), (3 E), (3 E): reset, update, new, side by side.
struct GruWeights {
  ConstTensorView input{}, state{}, input_bias{}, state_bias{};
};
// The same, of gradients, which are added to.
struct GruGradients {
  TensorView input{}, state{}, input_bias{}, state_bias{};
};

// What the forward pass keeps for the backward pass; contiguous.
struct GruTrace {
  TensorView gates{};      // (B, T, 3 E)
  TensorView past_term{};  // (B, T, E)
  TensorView before{};     // (B, T, E): the state before each step
};

// Memory to work in, contiguous; packed and gradient are 64-byte aligned f32 and not looked at for f64.
struct GruRoom {
  TensorView step{};            // (B, 3 E)
  TensorView carried{};         // (B, E)
  TensorView d_past{};          // (B, T, 3 E), in the backward pass
  TensorView packed{};          // gru_packed_room(in, E) or more: a packed matrix
  TensorView gradient{};        // linear_gradient_room(in, 3 E) and (E, 3 E) or more
  PackedAs as = PackedAs::f32;  // or bf16: what is multiplied
};
std::int64_t gru_packed_room(std::int64_t in, std::int64_t width);

// out[b, t] = the state of sequence b after its tokens 0 ... t; x (B, T, in), out (B, T, E), contiguous. All
// are f32, or all f64, which is the reference. A sequence has the same bits whatever the others and the
// number of threads.
void gru(ConstTensorView x, const GruWeights& weights, const GruTrace& trace, TensorView out,
         const GruRoom& room);

// From d_out, the gradient of out: adds to those of the parameters, and writes d_x (B, T, in) where it is
// given. What the trace holds is used up.
void gru_backward(ConstTensorView x, const GruWeights& weights, const GruTrace& trace, ConstTensorView d_out,
                  const GruGradients& gradients, TensorView d_x, const GruRoom& room);

}  // namespace attend::detail
