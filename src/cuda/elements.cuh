// Elements of any type, read and written by number and index. Widening is exact; narrowing rounds to nearest
// even.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "plugin/cuda_table.h"

namespace attend::cuda {

using plugin::Number;

__device__ inline float load_float(const char* data, Number number, std::int64_t index) {
  switch (number) {
    case Number::f32:
      return reinterpret_cast<const float*>(data)[index];
    case Number::bf16:
      return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(data)[index]);
    case Number::f16:
      return __half2float(reinterpret_cast<const __half*>(data)[index]);
    case Number::f64:
      return static_cast<float>(reinterpret_cast<const double*>(data)[index]);
    default:
      return 0;
  }
}

__device__ inline double load_double(const char* data, Number number, std::int64_t index) {
  return number == Number::f64 ? reinterpret_cast<const double*>(data)[index] : load_float(data, number, index);
}

__device__ inline void store_float(char* data, Number number, std::int64_t index, float value) {
  switch (number) {
    case Number::f32:
      reinterpret_cast<float*>(data)[index] = value;
      return;
    case Number::bf16:
      reinterpret_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(value);
      return;
    case Number::f16:
      reinterpret_cast<__half*>(data)[index] = __float2half_rn(value);
      return;
    case Number::f64:
      reinterpret_cast<double*>(data)[index] = value;
      return;
    default:
      return;
  }
}

__device__ inline void store_double(char* data, Number number, std::int64_t index, double value) {
  switch (number) {
    case Number::f64:
      reinterpret_cast<double*>(data)[index] = value;
      return;
    case Number::bf16:
      reinterpret_cast<__nv_bfloat16*>(data)[index] = __double2bfloat16(value);
      return;
    case Number::f16:
      reinterpret_cast<__half*>(data)[index] = __double2half(value);
      return;
    default:
      store_float(data, number, index, static_cast<float>(value));
  }
}

}  // namespace attend::cuda
