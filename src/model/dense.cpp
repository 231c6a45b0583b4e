#include "model/dense.h"

#include <attend/checkpoint.h>
#include <attend/file_error.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "model/tensor_source.h"

namespace attend::model {

DenseLayer::DenseLayer(const DenseModule& module) : tanh_(module.activation == "tanh") {
  const Checkpoint checkpoint = Checkpoint::open(module.weights);
  const TensorSource tensors = tensors_of(checkpoint);
  const Tensor weight =
      copy_of(required_tensor(tensors, "linear.weight", {module.outputs, module.inputs}), DType::f32);
  matrix_ = PackedMatrix(weight.view().transposed(0, 1));
  bias_ = module.bias ? copy_of(required_tensor(tensors, "linear.bias", {module.outputs}), DType::f32)
                      : Tensor(DType::f32, {module.outputs});
  checkpoint.require_intact();
}

Tensor DenseLayer::apply(ConstTensorView x) const {
  Tensor out(DType::f32, {x.size(0), outputs()});
  matmul(x, matrix_, out, {.bias = bias_});
  if (tanh_) {
    for (float& value : out.values<float>()) value = std::tanh(value);
  }
  return out;
}

}  // namespace attend::model
