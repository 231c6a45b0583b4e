#include "io/fail.h"

#include <cstddef>

#include "io/utf8.h"

namespace attend::io {

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    const bool printable = length > 1 ? !(first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0)
                                      : length == 1 && first >= 0x20 && first != 0x7F;
    if (result.size() + (printable ? length : 4) > kLongest) return result + "...";
    if (printable) {
      result.append(text.substr(0, length));
    } else {
      result.append("\\x").append({kDigits[first >> 4], kDigits[first & 15]});
    }
    text.remove_prefix(printable ? length : 1);
  }
  return result;
}

std::string quoted(std::string_view text) { return '"' + shown(text) + '"'; }

}  // namespace attend::io
