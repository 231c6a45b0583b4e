// Random tensors that are the same on every machine: each element is a function of the seed and of its place,
// nothing else.
#pragma once

#include <attend/tensor.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

namespace attend {

// splitmix64 (Steele, Lea, Flood 2014), used as a counter: number `counter` of the stream `seed`.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  // The seed is mixed too, so that neighbouring seeds are not one stream a few places apart.
  return mix(mix(seed + kGolden) + (counter + 1) * kGolden);
}

// In [0, 1).
inline double uniform_at(std::uint64_t seed, std::uint64_t counter) {
  return static_cast<double>(random_bits(seed, counter) >> 11) * 0x1p-53;
}

// Mean 0, variance 1 (Box-Muller; 1 - u keeps the logarithm away from 0).
inline double normal_at(std::uint64_t seed, std::uint64_t counter) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform_at(seed, 2 * counter)));
  return radius * std::cos(2 * std::numbers::pi * uniform_at(seed, 2 * counter + 1));
}

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
