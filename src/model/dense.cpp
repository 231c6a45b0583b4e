#include "model/dense.h"

#include <attend/checkpoint.h>
#include <attend/file_error.h>

#include <cmath>
#include <string>

#include "base/error.h"

namespace attend {
namespace {

Tensor tensor_of(const Checkpoint& checkpoint, const DenseModule& module, const std::string& name,
                 const Dims& shape) {
  const std::string file = module.weights.string();
  if (!checkpoint.contains(name)) throw FileError(file, name, "there is no such tensor");
  const ConstTensorView tensor = checkpoint.tensor(name);
  if (tensor.shape() != shape) {
    throw FileError(
        file, name,
        joined("its shape is ", to_string(tensor.shape()), ", the configuration says ", to_string(shape)));
  }
  if (!is_float(tensor.dtype())) throw FileError(file, name, "it does not hold numbers of a floating type");
  return copy_of(tensor, DType::f32);
}

}  // namespace

DenseLayer::DenseLayer(const DenseModule& module) : tanh_(module.activation == "tanh") {
  const Checkpoint checkpoint = Checkpoint::open(module.weights);
  const Tensor weight = tensor_of(checkpoint, module, "linear.weight", {module.outputs, module.inputs});
  matrix_ = PackedMatrix(weight.view().transposed(0, 1));
  bias_ = module.bias ? tensor_of(checkpoint, module, "linear.bias", {module.outputs})
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

}  // namespace attend
