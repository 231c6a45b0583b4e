// Safetensors files made by hand, good and bad.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attend {

inline std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  return bytes;
}

// A header with its true length, and so many bytes of data: 0, 1, 2...
inline std::string safetensors_bytes(std::string_view header, std::size_t data_bytes) {
  std::string bytes = little_endian(header.size());
  bytes += header;
  for (std::size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(static_cast<unsigned char>(i));
  return bytes;
}

// The header with blanks at its end, as the format's own library adds them, so that the data begins at a
// multiple of 8.
inline std::string padded(std::string_view header) {
  std::string text(header);
  while (text.size() % 8 != 0) text += ' ';
  return text;
}

// Two tensors, 20 bytes of data.
inline constexpr std::string_view kGoodHeader =
    R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]}})";

// The file with one number under this name.
inline std::string one_tensor(const std::string& name) {
  return safetensors_bytes("{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
}

}  // namespace attend
