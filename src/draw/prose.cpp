#include "draw/prose.h"

#include <algorithm>

#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {

std::string heading(std::string_view text, const Terminal& terminal) {
  std::string result;
  const std::string lines = paragraph(text, terminal);
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    result += styled(lines.substr(begin, end - begin), {.emphasis = Emphasis::bold}, terminal.color);
    result += '\n';
    begin = end + 1;
  }
  return result;
}

std::string paragraph(std::string_view text, const Terminal& terminal) {
  const int width = std::min(terminal.width, 96);  // longer lines are hard to read
  std::string result, line;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && text_width(line) + 1 + text_width(word) > width) {
      result += line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += shorten(word, width);
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return result + line + "\n";
}

}  // namespace attend::draw
