// What the tests of renderers look at: lines without their escape sequences, and how wide they are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "draw/text_width.h"

namespace attend::draw {

// Takes out our own styles, ESC [ digits m, and nothing else.
inline std::string without_styles(std::string text) {
  for (std::size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b', at)) {
    const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
    const bool style = text.compare(at + 1, 1, "[") == 0 && end != std::string::npos && text[end] == 'm';
    if (style) {
      text.erase(at, end + 1 - at);
    } else {
      ++at;
    }
  }
  return text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  EXPECT_EQ(start, text.size()) << "the last line has no end";
  return lines;
}

inline int widest_line(const std::string& text) {
  int widest = 0;
  for (const auto& line : lines_of(without_styles(text))) widest = std::max(widest, text_width(line));
  return widest;
}

// Nothing but printable text, line ends and our own styles.
inline bool is_tame(const std::string& text) {
  for (const auto& line : lines_of(without_styles(text))) {
    if (line.find_first_of("\x1b\r\t\b") != std::string::npos) return false;
  }
  return true;
}

}  // namespace attend::draw
