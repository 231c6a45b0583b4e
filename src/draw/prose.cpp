#include "draw/prose.h"

#include <algorithm>

#include "base/error.h"
#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {

std::string counted(std::int64_t count, std::string_view thing) {
  return joined(count, ' ', thing, count == 1 ? "" : "s");
}

std::string in_quotes(std::string_view text) {
  // A character takes at most 4 bytes; cutting bytes first keeps a message about a huge text cheap.
  return joined("“", shorten(printable(text.substr(0, 1000)), 40), "”");
}

std::string wrap(std::string_view text, int width) {
  std::string lines;
  int used = 0;
  const auto put = [&](std::string_view piece, int columns) {
    lines += piece;
    used += columns;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const int columns = text_width(word);
    if (used > 0 && used + 1 + columns > width) {
      lines += '\n';
      used = 0;
    } else if (used > 0) {
      put(" ", 1);
    }
    if (columns <= width) {
      put(word, columns);
      continue;
    }
    for (const std::string_view character : characters(word)) {
      if (used > 0 && used + text_width(character) > width) {
        lines += '\n';
        used = 0;
      }
      put(character, text_width(character));
    }
  }
  return lines.empty() ? lines : lines + "\n";
}

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
  constexpr int kWidest = 96;  // longer lines are hard to read
  const std::string lines = wrap(text, std::min(terminal.width, kWidest));
  return lines.empty() ? "\n" : lines;
}

}  // namespace attend::draw
