#include <attend/positions.h>

#include <algorithm>
#include <cmath>

#include "nn/frequencies.h"

namespace attend {
namespace {

void check_divisors(const char* operation, const char* name, const std::vector<double>& divisors,
                    std::int64_t pairs) {
  if (divisors.empty()) return;
  if (std::ssize(divisors) != pairs)
    refuse(operation, name, " has ", divisors.size(), " numbers for ", pairs, " pairs that rotate");
  for (const double divisor : divisors) {
    if (!(divisor > 0) || std::isinf(divisor))
      refuse(operation, name, " has the number ", divisor, ", expected positive finite ones");
  }
}

}  // namespace

std::int64_t detail::rotated_dimensions(const char* operation, const Rotary& rotary, std::int64_t d) {
  const std::int64_t r = rotary.dimensions == 0 ? d : rotary.dimensions;
  if (r < 0 || r > d) refuse(operation, "cannot rotate ", r, " dimensions of vectors of ", d);
  if (r % 2 != 0) refuse(operation, "cannot rotate ", r, " dimensions in pairs: the number is odd");
  check_base(operation, rotary.base);
  check_divisors(operation, "divisors", rotary.divisors, r / 2);
  check_divisors(operation, "long_divisors", rotary.long_divisors, r / 2);
  if (!(rotary.magnitude > 0) || std::isinf(rotary.magnitude))
    refuse(operation, "magnitude is ", rotary.magnitude, ", expected a positive finite number");
  if (rotary.long_text < 0) refuse(operation, "long_text is ", rotary.long_text, ", expected 0 or more");
  if (!(rotary.growth >= 0) || std::isinf(rotary.growth))
    refuse(operation, "growth is ", rotary.growth, ", expected a finite number of at least 0");
  if (rotary.growth > 0 && r <= 2)
    refuse(operation, "growth needs more than the ", r, " dimensions that rotate");
  return r;
}

std::vector<double> rotary_wavelengths(const Rotary& rotary, std::int64_t d, std::int64_t text_length) {
  const std::int64_t r = detail::rotated_dimensions("rotary_wavelengths", rotary, d);
  const bool is_long = rotary.long_text > 0 && text_length > rotary.long_text;
  double base = rotary.base;
  if (is_long && rotary.growth > 0) {
    const double stretch =
        rotary.growth * static_cast<double>(text_length) / static_cast<double>(rotary.long_text) -
        (rotary.growth - 1);
    base *= std::pow(stretch, static_cast<double>(r) / static_cast<double>(r - 2));
  }
  std::vector<double> wavelengths = detail::wavelengths_of(base, r, r / 2);
  const std::vector<double>& divisors =
      is_long && !rotary.long_divisors.empty() ? rotary.long_divisors : rotary.divisors;
  for (std::size_t i = 0; i < divisors.size(); ++i) wavelengths[i] *= divisors[i];
  return wavelengths;
}

bool rotation_changes(const Rotary& rotary, std::int64_t tokens_before, std::int64_t tokens_after) noexcept {
  if (rotary.long_text == 0 || tokens_before == tokens_after || tokens_after <= rotary.long_text)
    return false;
  return rotary.growth > 0 || tokens_before <= rotary.long_text;
}

}  // namespace attend
