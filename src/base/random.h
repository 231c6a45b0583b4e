// Random numbers that are the same on every machine: number `counter` of the stream `seed`, and nothing else.
// No state, so any element of a stream can be had again, in any order and on any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "base/detail.h"

namespace attend::detail {

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

// Which weights of one head dropout drops: element (row, column) of a table of independent choices, each made
// in a few 32-bit operations, so that vectors make the same ones as this. Rows and columns count modulo 2^32.
class DropoutStream {
 public:
  DropoutStream() = default;  // drops nothing
  DropoutStream(double probability, std::uint64_t seed, std::uint64_t sequence, std::uint64_t head)
      : threshold_(threshold_for(probability)) {
    const std::uint64_t key = random_bits(random_bits(seed, sequence), head);
    row_key_ = static_cast<std::uint32_t>(key);
    column_key_ = static_cast<std::uint32_t>(key >> 32);
  }

  bool drops_any() const { return threshold_ != kNone; }
  bool keeps(std::int64_t row, std::int64_t column) const {
    const std::uint32_t bits = mix(mix(static_cast<std::uint32_t>(row) ^ row_key_) ^ column_bits(column));
    return static_cast<std::int32_t>(bits) >= threshold_;
  }

  // For vectors: bits = mix(mix(row ^ row_key) ^ column_bits), as a signed number below threshold = dropped.
  std::uint32_t row_key() const { return row_key_; }
  std::uint32_t column_key() const { return column_key_; }
  std::uint32_t column_bits(std::int64_t column) const {
    return mix(static_cast<std::uint32_t>(column) ^ column_key_);
  }
  std::int32_t threshold() const { return threshold_; }

  // One to one on 32 bits. The constants are those of lowbias32 (Wellons, "Prospecting for hash functions",
  // 2018), found by search for even avalanche.
  static constexpr std::uint32_t kFirst = 0x7feb352d, kSecond = 0x846ca68b;
  static std::uint32_t mix(std::uint32_t x) {
    x = (x ^ (x >> 16)) * kFirst;
    x = (x ^ (x >> 15)) * kSecond;
    return x ^ (x >> 16);
  }

 private:
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::min();
  static std::int32_t threshold_for(double probability) {
    constexpr double kMost = 4294967295.0;
    return static_cast<std::int32_t>(std::min(std::round(probability * 0x1p32), kMost) - 0x1p31);
  }

  std::uint32_t row_key_ = 0, column_key_ = 0;
  std::int32_t threshold_ = kNone;
};

}  // namespace attend::detail
