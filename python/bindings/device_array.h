// attend.DeviceArray: a result on a GPU, for callers whose arrays are not PyTorch's. It owns its memory and
// hands it over by DLPack, in the order of the stream that it was computed on.
#pragma once

#include <nanobind/nanobind.h>

#include <attend/tensor.h>

namespace attend_python {

namespace nb = nanobind;

// Without its first `dropped` axes, which have size 1.
nb::object device_array(attend::Tensor tensor, int dropped = 0);
nb::object empty_device_array(attend::DType dtype, const attend::Dims& shape, attend::Device device);

// The same as a tensor of PyTorch's, in the same memory.
nb::object torch_tensor(attend::Tensor tensor, int dropped = 0);

}  // namespace attend_python
