#include "embed/characters.h"

#include "io/utf8.h"

namespace attend::embed {

Characters::Characters(std::string_view text) : text_(text) {
  for (std::size_t at = 0; at < text.size();) {
    starts_.push_back(at);
    io::next_char(text, at);
  }
  starts_.push_back(text.size());
}

std::string_view Characters::between(std::int32_t begin, std::int32_t end) const {
  const std::size_t first = starts_[static_cast<std::size_t>(begin)];
  return text_.substr(first, starts_[static_cast<std::size_t>(end)] - first);
}

}  // namespace attend::embed
