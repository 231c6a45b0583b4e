#include "draw/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace attend::draw {
namespace {

constexpr double kLeastScientific = 1e7;  // above this, fixed digits are hard to read
constexpr int kMostDigits = 8;  // of a number in fixed form: a long integer part leaves fewer decimals
constexpr int kScientificDecimals = 3;

// 1.50e-08 -> 1.5e-8, as a person would write it: without the exponent's plus sign and leading zeros.
std::string plain_exponent(const std::string& text) {
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  std::size_t digit = e + 1;
  std::string sign;
  if (text[digit] == '-' || text[digit] == '+') sign = text[digit++] == '-' ? "-" : "";
  while (digit + 1 < text.size() && text[digit] == '0') ++digit;
  return text.substr(0, e + 1) + sign + text.substr(digit);
}

std::string without_sign_of_zero(std::string text) {
  const std::string mantissa = text.substr(0, text.find('e'));
  if (text.starts_with('-') && mantissa.find_first_of("123456789") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string write(double value, std::chars_format style, int precision) {
  std::array<char, 400> buffer;  // the largest double has 309 digits before its point
  precision = std::clamp(precision, 0, 60);
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, style, precision);
  return without_sign_of_zero(plain_exponent(std::string(buffer.data(), result.ptr)));
}

std::string name_of_special(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

int digits_before_point(double magnitude) {
  return magnitude < 1 ? 1 : static_cast<int>(std::floor(std::log10(magnitude))) + 1;
}

// Whether this many decimals lose nothing that matters next to the largest value.
bool shown_in_full(double value, int decimals, double largest) {
  const double unit = std::pow(10.0, decimals);
  return !std::isfinite(value) || std::abs(value - std::round(value * unit) / unit) <= 1e-9 * largest;
}

}  // namespace

NumberFormat number_format_for(std::span<const double> values, int most_decimals) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const int most = std::clamp(kMostDigits - digits_before_point(largest), 0, most_decimals);
  int decimals = 0;
  bool in_full = true;
  for (const double value : values) {
    while (decimals < most && !shown_in_full(value, decimals, largest)) ++decimals;
    in_full = in_full && shown_in_full(value, decimals, largest);
  }
  // With fewer than two digits left of the largest value, rounded numbers would look like zeros.
  const bool too_small = !in_full && largest * std::pow(10.0, most) < 10;
  if (largest >= kLeastScientific || too_small) return {std::min(most_decimals, kScientificDecimals), true};
  return {decimals, false};
}

std::string format_number(double value, NumberFormat format) {
  if (!std::isfinite(value)) return name_of_special(value);
  if (value == 0 && format.scientific) return "0";
  return write(value, format.scientific ? std::chars_format::scientific : std::chars_format::fixed,
               format.decimals);
}

int shared_power(std::span<const double> values, NumberFormat format) {
  if (!format.scientific) return 0;
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest == 0 ? 0 : static_cast<int>(std::floor(std::log10(largest)));
}

std::string name_of_power(int power) {
  constexpr std::array<const char*, 10> kRaised = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string name = "×10";
  for (const char digit : std::to_string(power))
    name += digit == '-' ? "⁻" : kRaised[static_cast<std::size_t>(digit - '0')];
  return name;
}

std::string format_short(double value, int digits) {
  if (!std::isfinite(value)) return name_of_special(value);
  const double magnitude = std::abs(value);
  // Up to seven digits a whole number is easier to read than scientific notation: 4096, 1048576.
  if (magnitude == std::round(magnitude) && magnitude < kLeastScientific)
    return write(value, std::chars_format::fixed, 0);
  return write(value, std::chars_format::general, digits);
}

}  // namespace attend::draw
