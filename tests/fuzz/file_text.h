// Bytes from the fuzzer as a file's text, and what every refusal must be.
#pragma once

#include <attend/file_error.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "io/open_file.h"

namespace attend {

inline void require(bool condition) {
  if (!condition) __builtin_trap();
}

// In memory of exactly this size, so that the sanitizer sees a byte too far.
inline io::FileText file_text(const std::uint8_t* data, std::size_t size) {
  io::FileText text{"fuzz", std::make_unique<char[]>(size), size};
  if (size > 0) std::memcpy(text.memory.get(), data, size);
  return text;
}

// Runs a parser: it returns, or throws FileError with one printable sentence; anything else ends the fuzzer.
template <class Action>
void parse_or_refuse(Action action) {
  try {
    action();
  } catch (const FileError& error) {
    const std::string_view sentence = error.what();
    require(sentence.starts_with("fuzz") && sentence.size() < 600);
    require(std::none_of(sentence.begin(), sentence.end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }));
  }
}

}  // namespace attend
