// The smallest layers that learn: a linear one and a norm. They know where their parameters are, and nothing
// else.
#pragma once

#include <attend/matmul.h>

#include <string>

#include "train/pass.h"

namespace attend::train {

// out = a w + what follows; w (in, out), any strides. Packs w on the way, into the room.
void product(Pass& pass, ConstTensorView a, ConstTensorView w, TensorView out,
             const MatmulEpilogue& epilogue = {});

// out = a + b, element by element, (rows, n); out may be either.
void add(ConstTensorView a, ConstTensorView b, TensorView out);

class Linear {
 public:
  Linear() = default;
  // Weights start with this deviation, biases with 0.
  Linear(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
         double deviation);

  void forward(Pass& pass, ConstTensorView x, TensorView out, ConstTensorView residual = {}) const;
  // Adds to the gradients of its parameters; d_x = d_out w^T + residual, or not given.
  void backward(Pass& pass, ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                ConstTensorView residual = {}) const;

  static void plan(std::int64_t in, std::int64_t out, std::int64_t& panels, std::int64_t& gradient);
  void plan(std::int64_t& panels, std::int64_t& gradient) const { plan(in_, out_, panels, gradient); }

 private:
  int weight_ = -1, bias_ = -1;
  std::int64_t in_ = 0, out_ = 0;
};

class Norm {
 public:
  Norm() = default;
  Norm(Parameters& parameters, const std::string& name, const ModelShape& shape);

  void forward(Pass& pass, ConstTensorView x, TensorView out) const;
  // Adds to the gradients of its parameters; d_x = its gradient + residual; d_x may be d_out.
  void backward(Pass& pass, ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                ConstTensorView residual = {}) const;

 private:
  int gamma_ = -1, beta_ = -1;
};

}  // namespace attend::train
