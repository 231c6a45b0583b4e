#include "model/tensor_source.h"

#include <attend/file_error.h>

#include "base/error.h"

namespace attend {

TensorSource tensors_of(const Checkpoint& checkpoint) {
  const std::vector<std::string> names = checkpoint.names();
  return {.file = names.empty() ? "checkpoint" : checkpoint.info(names.front()).file,
          .contains = [checkpoint](const std::string& name) { return checkpoint.contains(name); },
          .tensor = [checkpoint](const std::string& name) { return checkpoint.tensor(name); },
          .forget = [checkpoint](const std::string& name) { checkpoint.forget(name); }};
}

namespace model {

ConstTensorView required_tensor(const TensorSource& tensors, const std::string& name, const Dims& shape) {
  if (!tensors.contains(name)) throw FileError(tensors.file, name, "there is no such tensor");
  const ConstTensorView tensor = tensors.tensor(name);
  if (tensor.shape() != shape) {
    throw FileError(tensors.file, name,
                    joined("its shape is ", to_string(tensor.shape()), ", but the configuration says ",
                           to_string(shape)));
  }
  if (!is_float(tensor.dtype())) {
    throw FileError(tensors.file, name,
                    joined("its type is ", name_of(tensor.dtype()), ", expected a floating-point type"));
  }
  return tensor;
}

}  // namespace model
}  // namespace attend
