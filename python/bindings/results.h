// New arrays for results, of the kind that the caller works with, where his are: PyTorch tensors for
// PyTorch's, NumPy arrays for all others on the host, DeviceArrays for all others on a GPU.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include <attend/tensor.h>

#include "array.h"

namespace attend_python {

// An array to be written, and its Python object.
class Result {
 public:
  explicit Result(nb::object object)
      : object_(std::move(object)), array_(std::make_unique<Array>(object_, "out", Access::write)) {}
  attend::TensorView view() const { return array_->writable(); }
  const nb::object& object() const { return object_; }

 private:
  nb::object object_;
  std::unique_ptr<Array> array_;
};

class ResultMaker {
 public:
  explicit ResultMaker(const Array& like) : like_(like) {}

  // Uninitialised. Of the type of `like`, or of another.
  Result empty(const attend::Dims& shape) const { return empty(shape, like_.dtype()); }
  Result empty(const attend::Dims& shape, attend::DType dtype) const;

  // The memory of a tensor, handed over; without its first `dropped` axes, which have size 1.
  nb::object take(attend::Tensor tensor, int dropped = 0) const;

 private:
  const Array& like_;
};

// "float32", numpy.float32, torch.float32, ...: their names are the same.
attend::DType dtype_from(nb::handle dtype);
const char* python_name(attend::DType dtype);  // "float32"

// numpy.empty(shape, dtype) for any type; bfloat16 takes the package ml_dtypes.
nb::object numpy_empty(const attend::Dims& shape, attend::DType dtype);

nb::object numpy_dtype(attend::DType dtype);

nb::tuple tuple_of(const attend::Dims& dims);

// A tensor of float32, float64 or int64 as a NumPy array that owns it.
nb::object numpy_of(attend::Tensor tensor, int dropped = 0);

}  // namespace attend_python
