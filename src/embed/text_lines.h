// Texts from a file or a pipe of any size, one per line, one at a time, in constant memory: of a line that is
// too long for a text, the beginning is returned first, and the rest on request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::embed {

enum class LineForm : bool {
  plain,  // the line is the text
  json,   // {"text": "...", ...}, or a JSON string
};

class TextLines {
 public:
  // The longest line that is returned whole, and the longest line of JSON that is read at all: the same limit
  // as for `attend explain`. A book has a tenth of it; tokenizing this much takes some hundred megabytes.
  static constexpr std::size_t kLongest = std::size_t{4} << 20;

  // "-" is standard input. Throws FileError.
  TextLines(const std::string& path, LineForm form);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  // Returns false at the end. Bytes that are not UTF-8 become U+FFFD. Line endings (\n or \r\n) and a
  // byte-order mark at the start are not part of a text. What is left of the previous line is skipped. Throws
  // FileError if reading fails.
  bool next(std::string& text);

  // Whether the line continues after what was returned: it is longer than kLongest.
  bool continues() const noexcept { return continues_; }
  // The next part of such a line, cut between words where possible.
  void more(std::string& text);

  std::int64_t line() const noexcept { return line_; }  // of the most recent text, from 1
  std::uint64_t bytes_read() const noexcept { return bytes_; }
  std::optional<std::uint64_t> bytes_in_all() const noexcept { return total_; }  // of a file
  const std::string& name() const noexcept { return name_; }

 private:
  bool fill();
  void take(std::string& text);
  void cut(std::string& text);
  void parse(std::string& text);

  std::string name_;
  int descriptor_ = -1;
  std::vector<char> buffer_;
  std::string_view unread_;  // of the buffer
  std::string held_;         // the end of what was read of a line, not returned yet
  std::int64_t line_ = 0;
  std::uint64_t bytes_ = 0;
  bool continues_ = false;
  std::optional<std::uint64_t> total_;
  LineForm form_;
};

}  // namespace attend::embed
