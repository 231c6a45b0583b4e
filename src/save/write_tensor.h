// A tensor's elements, in row-major order, into a file.
#pragma once

#include <attend/save.h>

#include <span>
#include <string>

#include "save/array_format.h"

namespace attend::save {

void write_elements(ArrayFormat& format, ConstTensorView tensor);

// As an array of its own.
void write_tensor(ArrayFormat& format, const NamedTensor& named);

// The bytes of the file that save_npz() writes.
std::string npz_bytes(std::span<const NamedTensor> tensors);

}  // namespace attend::save
