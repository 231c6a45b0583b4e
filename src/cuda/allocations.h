// The memory of tensors, which lives as long as they do: had and given back in the order of the stream that
// was current when it was made. While a graph is captured, a tensor's memory belongs to the graph as well,
// which writes it each time it is launched.
#pragma once

#include <cstddef>

#include "plugin/cuda_table.h"

namespace attend::cuda {

void* allocate(plugin::Place place, std::size_t bytes);  // zeroed
void release(plugin::Place place, void* memory);

}  // namespace attend::cuda
