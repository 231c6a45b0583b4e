// Places in a text, counted in characters as tokens' offsets are.
#pragma once

#include <attend/tokenizer.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace attend::embed {

// A text of UTF-8, and where each of its characters begins.
class Characters {
 public:
  explicit Characters(std::string_view text);
  std::string_view between(std::int32_t begin, std::int32_t end) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;  // in bytes; the last is the end
};

}  // namespace attend::embed
