// Ways to stretch rotary positions to longer texts than a model had learned, from the numbers that files
// give.
#pragma once

#include <attend/positions.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace attend::model {

// All take the rotary positions of heads of d elements as they were learned. F: the factor, O: the length of
// the texts that were learned.

// Every frequency divided by F.
Rotary stretched_linearly(Rotary rotary, std::int64_t d, double factor);

// Llama 3.1: frequencies of wavelengths longer than O / low are divided by F, those shorter than O / high
// stay, and those between go over from the one to the other.
struct Llama3Stretch {
  double factor = 8, low = 1, high = 4;
  std::int64_t original = 8192;
};
Rotary stretched_as_llama3(Rotary rotary, std::int64_t d, const Llama3Stretch& stretch);

// YaRN (Peng et al. 2023): pairs that turn more than beta_fast times in O positions stay, those that turn
// less than beta_slow times are divided by F, and those between go over linearly.
struct YarnStretch {
  double factor = 1, beta_fast = 32, beta_slow = 1;
  std::int64_t original = 0;
  bool truncate = true;                   // the bounds are whole numbers of pairs
  std::optional<double> magnitude{};      // default: 0.1 ln F + 1
  double mscale = 0, mscale_all_dim = 0;  // where both are given, the default is of these: DeepSeek
};
Rotary stretched_by_yarn(Rotary rotary, std::int64_t d, const YarnStretch& stretch);

// LongRoPE (Ding et al. 2024): a divisor for each pair, others for texts longer than O.
struct LongStretch {
  double factor = 1;
  std::int64_t original = 0;
  std::vector<double> short_divisors{}, long_divisors{};
  std::optional<double> magnitude{};  // default: sqrt(1 + ln F / ln O)
};
Rotary stretched_as_longrope(Rotary rotary, LongStretch stretch);

// Dynamic NTK: the base grows with the text, from O tokens on.
Rotary stretched_dynamically(Rotary rotary, double factor, std::int64_t original);

}  // namespace attend::model
