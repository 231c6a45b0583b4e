// A string of a template, which knows which of its bytes came from a message: special tokens are never made
// from those.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attend::chat {

struct Text {
  std::string bytes;     // UTF-8
  std::string given;     // '\1' for each byte that came from a message, '\0' for the others; empty: none did
  bool is_safe = false;  // went through the filter `safe`

  Text() = default;
  explicit Text(std::string_view from) : bytes(from) {}
  static Text from_message(std::string_view from);

  std::size_t size() const noexcept { return bytes.size(); }
  bool empty() const noexcept { return bytes.empty(); }
  Text part(std::size_t begin, std::size_t end) const;
  void append(const Text& other, std::size_t begin, std::size_t end);
  void append(const Text& other) { append(other, 0, other.size()); }
  void append(std::string_view literal, bool is_given = false);
  bool is_given(std::size_t at) const { return !given.empty() && given[at] != 0; }
};

// Python's str methods. Places are bytes; characters are code points.
bool is_python_space(char32_t c);
Text strip(const Text& text, const Text* characters, bool left, bool right);
std::vector<Text> split(const Text& text, const Text* separator, std::ptrdiff_t most, bool from_right);
std::vector<Text> split_lines(const Text& text);
Text replaced(const Text& text, const Text& from, const Text& to, std::ptrdiff_t most);
Text reversed(const Text& text);
std::vector<Text> characters_of(const Text& text);

enum class Case { upper, lower };
Text with_case(const Text& text, Case wanted);
Text capitalized(const Text& text);   // str.capitalize()
Text titled(const Text& text);        // str.title()
Text titled_words(const Text& text);  // the filter `title`

}  // namespace attend::chat
