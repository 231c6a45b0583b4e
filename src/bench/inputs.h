// Random tensors for the benchmarks, generated on all threads, so that a cache of 256 MB is filled quickly.
#pragma once

#include <attend/tensor.h>

#include <cstdint>

#include "bench/record.h"

namespace attend::bench {

// Uniform, mean 0 and variance 1, the same on every machine. f32, bf16 or f16.
Tensor random_tensor(DType dtype, const Dims& shape, std::uint64_t seed);

struct Inputs {
  Tensor q, k, v;  // (b, hq, lq, d), (b, hkv, lk, d), (b, hkv, lk, d)
};
Inputs random_inputs(const Shape& shape, DType dtype);

}  // namespace attend::bench
