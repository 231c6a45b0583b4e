#include "save/json_array.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace attend::save {
namespace {

template <class T>
void append_number(std::string& text, T value) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  std::array<char, 32> number;  // the longest double: 24 characters
  const auto end = std::to_chars(number.data(), number.data() + number.size(), value);
  const std::string_view digits(number.data(), static_cast<std::size_t>(end.ptr - number.data()));
  text += digits;
  if (digits.find_first_of(".e") == digits.npos) text += ".0";  // a real number stays one for every reader
}

}  // namespace

void append_json_array(std::string& text, ConstTensorView values) {
  text += '[';
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    if (i > 0) text += ',';
    if (values.rank() > 1) {
      append_json_array(text, values.select(0, i));
    } else if (values.dtype() == DType::f64) {
      append_number(text, values.data<double>()[i * values.stride(0)]);
    } else {
      append_number(text, values.data<float>()[i * values.stride(0)]);
    }
  }
  text += ']';
}

}  // namespace attend::save
