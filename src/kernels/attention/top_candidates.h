// The largest of many scores when many are kept: candidates are gathered, and thinned out when there are
// three times as many as needed. Each costs a constant, however many are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace attend::kernels {

// A score and its key as one number that is larger for a larger score and, at equal scores, for a lower key.
using Candidate = std::uint64_t;

inline Candidate candidate(float score, std::int32_t key) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);  // -0 becomes 0, which it equals
  const std::uint32_t rising = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return static_cast<std::uint64_t>(rising) << 32 | ~static_cast<std::uint32_t>(key);
}
inline float score_of(Candidate candidate) noexcept {
  const auto rising = static_cast<std::uint32_t>(candidate >> 32);
  return std::bit_cast<float>((rising & 0x80000000u) != 0 ? rising & 0x7fffffffu : ~rising);
}
inline std::int32_t key_of(Candidate candidate) noexcept {
  return static_cast<std::int32_t>(~static_cast<std::uint32_t>(candidate));
}

// Moves the `keep` best of `count` candidates to the front, in any order, and returns the worst score among
// them. They are all different; 0 < keep <= count.
float keep_best(Candidate* candidates, std::int64_t count, std::int64_t keep) noexcept;

// Best first.
void sort_best(Candidate* candidates, std::int64_t count) noexcept;

}  // namespace attend::kernels
