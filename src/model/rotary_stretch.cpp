#include "model/rotary_stretch.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace attend::model {
namespace {

double real(std::int64_t number) { return static_cast<double>(number); }

std::int64_t rotating(const Rotary& rotary, std::int64_t d) {
  return rotary.dimensions == 0 ? d : rotary.dimensions;
}

// What a frequency is divided by that is `kept` parts as it was and the rest divided by the factor.
double mixed_divisor(double kept, double factor) { return 1 / (kept + (1 - kept) / factor); }

double yarn_magnitude(double factor, double scale = 1) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

}  // namespace

Rotary stretched_linearly(Rotary rotary, std::int64_t d, double factor) {
  rotary.divisors.assign(static_cast<std::size_t>(rotating(rotary, d) / 2), factor);
  return rotary;
}

Rotary stretched_as_llama3(Rotary rotary, std::int64_t d, const Llama3Stretch& stretch) {
  std::vector<double> divisors;
  for (const double radian : rotary_wavelengths(rotary, d)) {
    const double turns = real(stretch.original) / (2 * std::numbers::pi * radian);  // in O positions
    const double kept = (turns - stretch.low) / (stretch.high - stretch.low);
    divisors.push_back(turns < stretch.low    ? stretch.factor
                       : turns > stretch.high ? 1
                                              : mixed_divisor(kept, stretch.factor));
  }
  rotary.divisors = std::move(divisors);
  return rotary;
}

Rotary stretched_by_yarn(Rotary rotary, std::int64_t d, const YarnStretch& stretch) {
  const double r = real(rotating(rotary, d));
  // The pair, not a whole number, that turns so many times in O positions.
  const auto pair_of = [&](double turns) {
    return r * std::log(real(stretch.original) / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rotary.base));
  };
  double first = pair_of(stretch.beta_fast), last = pair_of(stretch.beta_slow);
  if (stretch.truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, r - 1);
  if (first == last) last += 0.001;
  rotary.divisors.clear();
  for (std::int64_t i = 0; i < rotating(rotary, d) / 2; ++i) {
    const double kept = 1 - std::clamp((real(i) - first) / (last - first), 0.0, 1.0);
    rotary.divisors.push_back(mixed_divisor(kept, stretch.factor));
  }
  const bool two = stretch.mscale != 0 && stretch.mscale_all_dim != 0;
  const double usual = two ? yarn_magnitude(stretch.factor, stretch.mscale) /
                                 yarn_magnitude(stretch.factor, stretch.mscale_all_dim)
                           : yarn_magnitude(stretch.factor);
  rotary.magnitude = stretch.magnitude.value_or(usual);
  return rotary;
}

Rotary stretched_as_longrope(Rotary rotary, LongStretch stretch) {
  rotary.divisors = std::move(stretch.short_divisors);
  rotary.long_divisors = std::move(stretch.long_divisors);
  rotary.long_text = stretch.original;
  const double usual =
      stretch.factor <= 1 ? 1 : std::sqrt(1 + std::log(stretch.factor) / std::log(real(stretch.original)));
  rotary.magnitude = stretch.magnitude.value_or(usual);
  return rotary;
}

Rotary stretched_dynamically(Rotary rotary, double factor, std::int64_t original) {
  rotary.growth = factor;
  rotary.long_text = original;
  return rotary;
}

}  // namespace attend::model
