// Texts from a file or a pipe of any size, one a line, one at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace attend::embed {

enum class LineForm : bool {
  plain,  // the line is the text
  json,   // {"text": "...", ...}, or a JSON string
};

class TextLines {
 public:
  // "-" is standard input. Throws FileError.
  TextLines(const std::string& path, LineForm form);
  ~TextLines();

  // False at the end. What is no UTF-8 becomes U+FFFD. The end of a line (\n or \r\n) and a byte-order mark
  // at the start belong to no text.
  bool next(std::string& text);

  std::int64_t line() const noexcept { return line_; }  // of the text that came last, from 1
  std::uint64_t bytes_read() const noexcept { return bytes_; }
  std::optional<std::uint64_t> bytes_in_all() const noexcept { return total_; }  // of a file
  const std::string& name() const noexcept { return name_; }

 private:
  struct Reader;  // of JSON
  bool read_line(std::string& line);

  std::string name_;
  std::FILE* file_ = nullptr;
  char* buffer_ = nullptr;
  std::size_t room_ = 0;
  std::int64_t line_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<std::uint64_t> total_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace attend::embed
