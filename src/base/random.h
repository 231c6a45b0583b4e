// Random numbers that are the same on every machine: number `counter` of the stream `seed`, and nothing else.
// No state, so any element of a stream can be had again, in any order and on any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace attend {

// splitmix64 (Steele, Lea, Flood 2014), used as a counter.
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

}  // namespace attend
