// Texts from a file or a pipe of any size, one a line, one at a time, in constant memory: of a line that is
// longer than a text may be the beginning is given, and the rest as it is asked for.
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
  // The longest line that is given as a whole, and of JSON is read at all: `attend explain` takes as much. A
  // book has a tenth of it; while it is cut into tokens it takes some hundred megabytes.
  static constexpr std::size_t kLongest = std::size_t{4} << 20;

  // "-" is standard input. Throws FileError.
  TextLines(const std::string& path, LineForm form);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  // False at the end. What is not UTF-8 becomes U+FFFD. The end of a line (\n or \r\n) and a byte-order mark
  // at the start belong to no text. What remained of the line before is passed over. Throws FileError where
  // reading fails.
  bool next(std::string& text);

  // Whether the line goes on after what was given: it is longer than kLongest.
  bool goes_on() const noexcept { return goes_on_; }
  // What follows then, cut between words where that is possible.
  void more(std::string& text);

  std::int64_t line() const noexcept { return line_; }  // of the text that came last, from 1
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
  std::string held_;         // the end of what was read of a line, which was not given yet
  std::int64_t line_ = 0;
  std::uint64_t bytes_ = 0;
  bool goes_on_ = false;
  std::optional<std::uint64_t> total_;
  LineForm form_;
};

}  // namespace attend::embed
