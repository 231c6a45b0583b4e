#include "model/tensor_source.h"

#include <attend/file_error.h>

#include "base/error.h"

namespace attend {

TensorSource tensors_of(const Checkpoint& checkpoint) {
  const std::vector<std::string> names = checkpoint.names();
  return {.file = names.empty() ? "checkpoint" : checkpoint.info(names.front()).file,
          .contains = [checkpoint](const std::string& name) { return checkpoint.contains(name); },
          .tensor = [checkpoint](const std::string& name) { return checkpoint.tensor(name); },
          .forget = [checkpoint](const std::string& name) { checkpoint.forget(name); },
          .form = [checkpoint](const std::string& name) { return checkpoint.form(name); },
          .blocks = [checkpoint](const std::string& name) { return checkpoint.blocks(name); }};
}

namespace model {

namespace {

void require_form(const TensorSource& tensors, const std::string& name, const TensorForm& form,
                  const Dims& shape) {
  if (form.shape != shape) {
    throw FileError(
        tensors.file, name,
        joined("its shape is ", to_string(form.shape), ", but the configuration says ", to_string(shape)));
  }
  if (!is_float(form.dtype)) {
    throw FileError(tensors.file, name,
                    joined("its type is ", name_of(form.dtype), ", expected a floating-point type"));
  }
}

void require_name(const TensorSource& tensors, const std::string& name) {
  if (!tensors.contains(name)) throw FileError(tensors.file, name, "there is no such tensor");
}

}  // namespace

ConstTensorView required_tensor(const TensorSource& tensors, const std::string& name, const Dims& shape) {
  require_name(tensors, name);
  const ConstTensorView tensor = tensors.tensor(name);
  require_form(tensors, name, {tensor.dtype(), tensor.shape()}, shape);
  return tensor;
}

ConstTensorView required_form(const TensorSource& tensors, const std::string& name, const Dims& shape) {
  if (!tensors.form) return required_tensor(tensors, name, shape);
  require_name(tensors, name);
  const TensorForm form = tensors.form(name);
  require_form(tensors, name, form, shape);
  static constexpr double kZero = 0;  // as large as any element
  Dims strides = shape;
  for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] = 0;
  return {&kZero, form.dtype, shape, strides};
}

std::optional<StoredBlocks> stored_blocks(const TensorSource& tensors, const std::string& name,
                                          const Dims& shape) {
  if (!tensors.blocks) return std::nullopt;
  required_form(tensors, name, shape);
  return tensors.blocks(name);
}

}  // namespace model
}  // namespace attend
