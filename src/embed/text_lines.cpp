#include "embed/text_lines.h"

#include <attend/file_error.h>

#include <simdjson.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "text/utf8.h"

namespace attend::embed {

struct TextLines::Reader {
  simdjson::dom::parser parser;
};

TextLines::TextLines(const std::string& path, LineForm form) : name_(path == "-" ? "standard input" : path) {
  file_ = path == "-" ? stdin : std::fopen(path.c_str(), "re");
  if (file_ == nullptr) throw FileError(name_, "", joined("cannot be opened: ", std::strerror(errno)));
  struct stat status {};
  if (::fstat(::fileno(file_), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      if (file_ != stdin) std::fclose(file_);
      throw FileError(name_, "", "is a folder, expected a file of texts");
    }
    if (S_ISREG(status.st_mode)) total_ = static_cast<std::uint64_t>(status.st_size);
  }
  if (form == LineForm::json) reader_ = std::make_unique<Reader>();
}

TextLines::~TextLines() {
  if (file_ != stdin) std::fclose(file_);
  std::free(buffer_);  // NOLINT: getline() allocates so
}

bool TextLines::read_line(std::string& line) {
  const ssize_t size = ::getline(&buffer_, &room_, file_);
  if (size < 0) {
    if (std::ferror(file_) != 0)
      throw FileError(name_, joined("line ", line_ + 1), joined("cannot be read: ", std::strerror(errno)));
    return false;
  }
  bytes_ += static_cast<std::uint64_t>(size);
  std::string_view read(buffer_, static_cast<std::size_t>(size));
  if (read.ends_with('\n')) read.remove_suffix(1);
  if (read.ends_with('\r')) read.remove_suffix(1);
  if (line_++ == 0 && read.starts_with("\xEF\xBB\xBF")) read.remove_prefix(3);
  line.assign(read);
  return true;
}

bool TextLines::next(std::string& text) {
  if (!read_line(text)) return false;
  if (!reader_) {
    if (!text::is_utf8(text)) text = text::repair_utf8(text);
    return true;
  }
  const std::string where = joined("line ", line_);
  simdjson::dom::element root;
  if (const auto error = reader_->parser.parse(text).get(root); error != simdjson::SUCCESS) {
    throw FileError(name_, where, joined("is no JSON: ", simdjson::error_message(error)));
  }
  std::string_view value;
  if (root.get_string().get(value) != simdjson::SUCCESS &&
      root["text"].get_string().get(value) != simdjson::SUCCESS) {
    throw FileError(name_, where, "is neither a string nor an object with a string \"text\"");
  }
  text = std::string(value);
  return true;
}

}  // namespace attend::embed
