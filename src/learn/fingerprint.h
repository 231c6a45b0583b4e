// A number that changes with every byte, to recognise a file; not a protection against forgery.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/random.h"

namespace attend::learn {

inline std::uint64_t fingerprint_of(std::string_view bytes, std::uint64_t before = 0) {
  std::uint64_t print = random_bits(before, bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
    print = random_bits(print, word);
  }
  return print;
}

}  // namespace attend::learn
