#include "io/base64.h"

#include <cstddef>
#include <cstdint>

namespace attend::io {

void append_base64(std::string& text, std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto at = [&](std::size_t i) -> std::uint32_t {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
  };
  std::size_t out = text.size();
  text.resize(out + (bytes.size() + 2) / 3 * 4, '=');
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    for (std::size_t k = 0; k < 4; ++k, ++out) {
      if (i + k <= bytes.size()) text[out] = kDigits[group >> (18 - 6 * k) & 63];
    }
  }
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

}  // namespace attend::io
