// Numbers as a person would write them. Never dependent on the locale.
#pragma once

#include <span>
#include <string>

namespace attend::draw {

// How all numbers of one matrix are written, so that their points stand below each other.
struct NumberFormat {
  int decimals = 4;
  bool scientific = false;  // 1.23e-8
};

// As few decimals as show every value in full, at most `most_decimals`; scientific where fixed digits would
// fill the line or show nothing but zeros. Infinities and NaN have no say.
NumberFormat number_format_for(std::span<const double> values, int most_decimals = 4);

// "0.4754", "1.234e-9", "-inf", "inf", "nan". A negative value that rounds to zero is written without its
// sign.
std::string format_number(double value, NumberFormat format);

// One number on its own, at most `digits` significant ones: 4096, 0.25, 3.05e-5.
std::string format_short(double value, int digits = 4);

}  // namespace attend::draw
