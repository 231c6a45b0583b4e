// A layer that a sentence model has after pooling.
#pragma once

#include <attend/matmul.h>
#include <attend/model_files.h>
#include <attend/tensor.h>

namespace attend::model {

class DenseLayer {
 public:
  explicit DenseLayer(const DenseModule& module);  // throws FileError
  std::int64_t outputs() const noexcept { return matrix_.columns(); }
  Tensor apply(ConstTensorView x) const;

 private:
  PackedMatrix matrix_;
  Tensor bias_;
  bool tanh_ = false;
};

}  // namespace attend::model
