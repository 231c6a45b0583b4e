// The memory of tensors, which lives as long as they do. It is had in the order of the current stream, and
// given back in the same order where that stream is still the current one, else after all the device has to
// do. While a graph is captured, a tensor's memory belongs to the graph as well, which writes it each time it
// is launched.
#pragma once

#include <cstddef>

#include "plugin/cuda_table.h"

namespace attend::cuda {

void* allocate(plugin::Place place, std::size_t bytes);  // zeroed
void release(plugin::Place place, void* memory);

}  // namespace attend::cuda
