// The geometric series of wavelengths that sinusoidal positions and rotary positions share.
#pragma once

#include <attend/positions.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace attend::detail {

inline void check_base(const char* operation, double base) {
  if (!(base > 0) || std::isinf(base)) {
    refuse(operation, "base is ", base, ", expected a positive finite number");
  }
}

// base^(2i/d) for i < count: pair i turns by the angle p / that at position p. In float64: at position 10^6
// an f32 angle would be off by up to 0.06 radians.
inline std::vector<double> wavelengths_of(double base, std::int64_t d, std::int64_t count) {
  std::vector<double> wavelengths(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < wavelengths.size(); ++i) {
    wavelengths[i] = std::pow(base, 2 * static_cast<double>(i) / static_cast<double>(d));
  }
  return wavelengths;
}

// How many elements of a vector of d rotate. Refuses numbers with which none could.
std::int64_t rotated_dimensions(const char* operation, const Rotary& rotary, std::int64_t d);

}  // namespace attend::detail
