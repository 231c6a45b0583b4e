// Element `index`, counted row-major, of a strided view; and the loop over all of them.
#pragma once

#include <cuda_runtime.h>

#include "plugin/cuda_table.h"

namespace attend::cuda {

struct Walk {
  std::int64_t shape[4] = {1, 1, 1, 1}, strides[4] = {};

  explicit Walk(const plugin::View& view) {
    for (int axis = 0; axis < view.rank; ++axis) {
      shape[4 - view.rank + axis] = view.shape[axis];
      strides[4 - view.rank + axis] = view.strides[axis];
    }
  }
  __device__ std::int64_t offset(std::int64_t index) const {
    std::int64_t at = 0;
    for (int axis = 3; axis >= 0; --axis) {
      at += index % shape[axis] * strides[axis];
      index /= shape[axis];
    }
    return at;
  }
  std::int64_t count() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
};

inline constexpr int kWalkThreads = 256;
inline unsigned walk_blocks(std::int64_t count) {
  const std::int64_t blocks = (count + kWalkThreads - 1) / kWalkThreads;
  return static_cast<unsigned>(blocks < 65535 ? blocks : 65535);
}
__device__ inline std::int64_t first_index() { return blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; }
__device__ inline std::int64_t index_step() { return gridDim.x * std::int64_t{blockDim.x}; }

}  // namespace attend::cuda
