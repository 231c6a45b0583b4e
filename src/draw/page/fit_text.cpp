#include "draw/page/fit_text.h"

#include <algorithm>
#include <utility>

#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr int kLongestLabel = 2000;  // columns: wider than any page, and quick to measure

std::string first_of(const std::vector<std::string_view>& letters, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += letters[i];
  // A mark ends right-to-left order, which the cut may have left open. It has no width; ASCII does not need
  // it.
  const char* mark = is_ascii(text) ? "" : "\u200E";
  return text.append(kEllipsis).append(mark);
}

// How many characters of a text fit, at least one.
std::size_t fitting(const std::vector<std::string_view>& letters, double width, Font font,
                    const TextMeasure& measure) {
  std::string line;
  std::size_t count = 0;
  for (const std::string_view letter : letters) {
    line += letter;
    if (count > 0 && measure.width(line, font) > width) break;
    ++count;
  }
  return count;
}

}  // namespace

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

std::string drawable(std::string_view label) {
  constexpr std::size_t kMostBytes = 4 * kLongestLabel;
  if (label.size() <= kMostBytes) return shorten(printable(label), kLongestLabel);
  // Cut at the start of a character, so that the cut does not show up as a byte that is not UTF-8.
  std::size_t end = kMostBytes;
  while (end > kMostBytes - 4 && (static_cast<unsigned char>(label[end]) & 0xC0) == 0x80) --end;
  return shorten(printable(std::string(label.substr(0, end)).append(kEllipsis)), kLongestLabel);
}

std::string fitted(const std::string& text, double width, Font font, const TextMeasure& measure) {
  if (measure.width(text, font) <= width) return text;
  const auto letters = characters(text);
  // The longest prefix that fits together with the ellipsis, by bisection: labels may be long.
  std::size_t fits = 0, too_long = letters.size();
  while (too_long - fits > 1) {
    const std::size_t middle = (fits + too_long) / 2;
    (measure.width(first_of(letters, middle), font) <= width ? fits : too_long) = middle;
  }
  if (fits > 0) return first_of(letters, fits);
  return measure.width(kEllipsis, font) <= width ? std::string(kEllipsis) : std::string();
}

std::vector<std::string> broken(std::string_view text, double width, Font font, const TextMeasure& measure,
                                std::size_t most) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string longer = line.empty() ? word : line + " " + word;
    if (measure.width(longer, font) <= width) {
      line = longer;
      continue;
    }
    if (!line.empty()) lines.push_back(std::exchange(line, {}));
    while (measure.width(word, font) > width && lines.size() < most) {
      const auto letters = characters(word);
      const std::size_t count = fitting(letters, width, font, measure);
      if (count == letters.size()) break;  // one character that is wider than the line
      const auto bytes = static_cast<std::size_t>(letters[count].data() - word.data());
      lines.push_back(word.substr(0, bytes));
      word.erase(0, bytes);
    }
    line = word;
  }
  if (!line.empty()) lines.push_back(line);
  if (lines.size() > most || (lines.size() == most && !text.empty())) {
    lines.resize(most);
    lines.back() = fitted(lines.back() + std::string(kEllipsis), width, font, measure);
  }
  return lines;
}

}  // namespace attend::draw
