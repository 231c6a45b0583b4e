// Bytes of unknown origin that are read at places: a file's, or in a test those of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "io/open_file.h"

namespace attend::io {

struct ByteSource {
  std::string name;  // what errors call it
  std::size_t size = 0;
  std::function<void(std::size_t offset, std::span<char> into)> read;  // within the size, always

  std::string text(std::size_t offset, std::size_t bytes) const {
    std::string result(bytes, '\0');
    read(offset, result);
    return result;
  }
};

// Of a file, which must outlive it.
inline ByteSource bytes_of(const InputFile& file) {
  return {file.name(), file.size(),
          [&file](std::size_t offset, std::span<char> into) { file.read(offset, into); }};
}

// A little-endian number of up to eight bytes.
inline std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace attend::io
