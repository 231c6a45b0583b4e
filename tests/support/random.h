// Random tensors that are the same on every machine.
#pragma once

#include <attend/tensor.h>

#include <cstdint>

#include "base/random.h"

namespace attend {

namespace detail {

template <class T, class Value>
Tensor filled(const Dims& shape, Value value) {
  Tensor result(dtype_of<T>(), shape);
  std::uint64_t place = 0;
  for (T& element : result.values<T>()) element = value(place++);
  return result;
}

}  // namespace detail

// Drawn in f64 and rounded once, so that the f32 tensor of a seed is the f64 one, rounded.
inline Tensor random_normal(const Dims& shape, DType dtype, std::uint64_t seed, double deviation = 1) {
  const auto value = [&](std::uint64_t place) { return deviation * normal_at(seed, place); };
  return copy_of(detail::filled<double>(shape, value), dtype);
}

inline Tensor random_uniform(const Dims& shape, DType dtype, std::uint64_t seed, double low = 0,
                             double high = 1) {
  const auto value = [&](std::uint64_t place) { return low + (high - low) * uniform_at(seed, place); };
  return copy_of(detail::filled<double>(shape, value), dtype);
}

// True with probability `share`.
inline Tensor random_boolean(const Dims& shape, std::uint64_t seed, double share = 0.5) {
  return detail::filled<bool>(shape, [&](std::uint64_t place) { return uniform_at(seed, place) < share; });
}

}  // namespace attend
