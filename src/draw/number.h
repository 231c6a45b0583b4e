// Numbers as a person would write them. Never dependent on the locale.
#pragma once

#include <span>
#include <string>

namespace attend::draw {

// How all numbers of one matrix are written, so that their decimal points line up.
struct NumberFormat {
  int decimals = 4;
  bool scientific = false;  // 1.23e-8
};

// As few decimals as show every value in full, at most `most_decimals`; scientific where fixed digits would
// fill the line or show only zeros. Infinities and NaN are ignored.
NumberFormat number_format_for(std::span<const double> values, int most_decimals = 4);

// "0.4754", "1.234e-9", "-inf", "inf", "nan". A negative value that rounds to zero has no sign.
std::string format_number(double value, NumberFormat format);

// The power of ten that all numbers of a matrix share where they would otherwise be scientific: -3 for
// 0.00869; 0 where none is needed.
int shared_power(std::span<const double> values, NumberFormat format);
// "×10⁻³"
std::string name_of_power(int power);

// A single number, with at most `digits` significant digits: 4096, 0.25, 3.05e-5.
std::string format_short(double value, int digits = 4);

}  // namespace attend::draw
