// Tensors of a source, checked.
#pragma once

#include <attend/transformer.h>

#include <string>

namespace attend::model {

// Where it lies. Throws FileError where there is none of that name, shape and of a floating type.
ConstTensorView required_tensor(const TensorSource& tensors, const std::string& name, const Dims& shape);

}  // namespace attend::model
