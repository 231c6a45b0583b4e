// Which keys a query may see by position, and which coins dropout throws: the same rules as the host's
// (kernels/attention/head.h, base/random.h), which tests/cuda compares number by number. Plain constexpr C++,
// for the device and for the tests.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define ATTEND_BOTH __host__ __device__
#else
#define ATTEND_BOTH
#endif

namespace attend::cuda {

struct KeySpan {
  std::int64_t begin = 0, end = 0;
};

struct Visible {
  std::int64_t key_count = 0, query_offset = 0;
  std::int64_t window_left = -1, window_right = -1;  // -1: unlimited
  bool causal = false;

  ATTEND_BOTH constexpr KeySpan keys_of(std::int64_t query) const {
    const std::int64_t position = query + query_offset;
    std::int64_t end = key_count;
    if (causal && position + 1 < end) end = position + 1;
    if (window_right >= 0 && position + window_right + 1 < end) end = position + window_right + 1;
    if (end < 0) end = 0;
    std::int64_t begin = window_left >= 0 && position > window_left ? position - window_left : 0;
    if (begin > end) begin = end;
    return {begin, end};
  }
};

// splitmix64, as base/random.h has it.
ATTEND_BOTH constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  std::uint64_t z = seed + kGolden;
  for (int round = 0; round < 2; ++round) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z = z ^ (z >> 31);
    if (round == 0) z += (counter + 1) * kGolden;
  }
  return z;
}

struct Coins {
  std::uint32_t row_key = 0, column_key = 0;
  std::int32_t threshold = INT32_MIN;  // nothing is dropped

  ATTEND_BOTH static constexpr Coins of(std::int32_t threshold, std::uint64_t seed, std::uint64_t sequence,
                                        std::uint64_t head) {
    const std::uint64_t key = random_bits(random_bits(seed, sequence), head);
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), threshold};
  }
  ATTEND_BOTH static constexpr std::uint32_t mix(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
  }
  ATTEND_BOTH constexpr bool keeps(std::int64_t row, std::int64_t column) const {
    const std::uint32_t bits = mix(mix(static_cast<std::uint32_t>(row) ^ row_key) ^
                                   mix(static_cast<std::uint32_t>(column) ^ column_key));
    return static_cast<std::int32_t>(bits) >= threshold;
  }
};

// The threshold of a probability, as base/random.h rounds it.
constexpr std::int32_t coin_threshold(double probability) {
  const double wanted = static_cast<double>(static_cast<std::int64_t>(probability * 4294967296.0 + 0.5));
  return static_cast<std::int32_t>((wanted < 4294967295.0 ? wanted : 4294967295.0) - 2147483648.0);
}

}  // namespace attend::cuda
