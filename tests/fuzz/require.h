// What holds for any input, and ends the fuzzer where it does not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace attend {

inline void require(bool condition) {
  if (!condition) __builtin_trap();
}

// One sentence that may be shown, sent and logged.
inline void require_sentence(std::string_view sentence, std::size_t longest) {
  require(!sentence.empty() && sentence.size() < longest);
  require(std::none_of(sentence.begin(), sentence.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }));
}

}  // namespace attend
