// Text on its way through the tokenizer, every byte of it with the characters of the given text that it
// stands for.
#pragma once

#include <attend/tokenizer.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/utf8.h"

namespace attend::text {

struct AlignedText {
  std::string bytes;
  std::vector<TextSpan> spans;  // one for each byte

  std::size_t size() const { return bytes.size(); }
  bool empty() const { return bytes.empty(); }

  void clear() {
    bytes.clear();
    spans.clear();
  }

  void append(char32_t c, TextSpan span) {
    char encoded[4];
    const int count = io::put_char(c, encoded);
    bytes.append(encoded, static_cast<std::size_t>(count));
    spans.insert(spans.end(), static_cast<std::size_t>(count), span);
  }

  void append(std::string_view text, TextSpan span) {
    bytes.append(text);
    spans.insert(spans.end(), text.size(), span);
  }

  void append(const AlignedText& other, std::size_t begin, std::size_t end) {
    bytes.append(other.bytes, begin, end - begin);
    spans.insert(spans.end(), other.spans.begin() + static_cast<std::ptrdiff_t>(begin),
                 other.spans.begin() + static_cast<std::ptrdiff_t>(end));
  }

  // A valid text that stands for itself.
  void assign(std::string_view text) {
    bytes.assign(text);
    spans.resize(text.size());
    std::int32_t character = -1;
    for (std::size_t i = 0; i < text.size(); ++i) {
      character += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
      spans[i] = {character, character + 1};
    }
  }

  void swap(AlignedText& other) noexcept {
    bytes.swap(other.bytes);
    spans.swap(other.spans);
  }
};

}  // namespace attend::text
