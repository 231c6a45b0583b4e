#include "embed/characters.h"

#include "text/unicode.h"
#include "text/utf8.h"

namespace attend::embed {

Characters::Characters(std::string_view text) : text_(text) {
  for (std::size_t at = 0; at < text.size();) {
    starts_.push_back(at);
    text::next_char(text, at);
  }
  starts_.push_back(text.size());
}

std::string_view Characters::between(std::int32_t begin, std::int32_t end) const {
  const std::size_t first = starts_[static_cast<std::size_t>(begin)];
  return text_.substr(first, starts_[static_cast<std::size_t>(end)] - first);
}

std::vector<TextSpan> Characters::words() const {
  std::vector<TextSpan> words;
  bool inside = false;
  for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
    std::size_t at = starts_[i];
    const bool blank = text::is(text::next_char(text_, at), text::kWhite);
    const auto place = static_cast<std::int32_t>(i);
    if (!blank && !inside) words.push_back({place, place});
    if (!blank) words.back().end = place + 1;
    inside = !blank;
  }
  return words;
}

}  // namespace attend::embed
