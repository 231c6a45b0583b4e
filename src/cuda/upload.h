// Small tables of the host on the device, as arguments of kernels: read before the call returns, without
// waiting, and part of a graph where one is captured.
#pragma once

#include <cstddef>

#include "plugin/cuda_table.h"

namespace attend::cuda {

// to: on the device, aligned to 8 bytes.
void upload(plugin::Place place, void* to, const void* from, std::size_t bytes);

}  // namespace attend::cuda
