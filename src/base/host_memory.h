// The memory operations of the host, for its row of the table of operations (base/operations.h). The
// arguments have been checked.
#pragma once

#include <attend/tensor.h>

#include <cstddef>

namespace attend::host {

void* allocate(Device device, std::size_t bytes);
void free(Device device, void* memory) noexcept;
void copy(ConstTensorView from, TensorView to);
void fill(TensorView out, double value);
// The host has always finished, and has no streams.
void synchronize(Device device);
void wait_for_stream(Device device, void* other);

}  // namespace attend::host
