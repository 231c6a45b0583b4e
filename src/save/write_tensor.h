// A tensor's elements, in row-major order, into a file.
#pragma once

#include <attend/save.h>

#include "save/array_format.h"

namespace attend::save {

void write_elements(ArrayFormat& format, ConstTensorView tensor);

// As an array of its own.
void write_tensor(ArrayFormat& format, const NamedTensor& named);

}  // namespace attend::save
