// The header of NumPy's .npy, version 1.0.
#pragma once

#include <attend/tensor.h>

#include <cstddef>
#include <string>

namespace attend::save {

// A multiple of 64, with room for any first size.
std::size_t npy_header_bytes(DType dtype, const Dims& shape);

// Exactly `bytes` long. Refuses bf16, for which NumPy has no name.
std::string npy_header(DType dtype, const Dims& shape, std::size_t bytes);

}  // namespace attend::save
