#include "embed/text_lines.h"

#include <attend/file_error.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "io/json_reader.h"
#include "io/utf8.h"

namespace attend::embed {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;

// Where to cut a text that continues: after its last space, if that is not far back, otherwise between two
// characters.
std::size_t place_to_cut(std::string_view text) {
  constexpr std::size_t kFar = 1024;
  const std::size_t space = text.find_last_of(" \t");
  if (space != std::string_view::npos && space + kFar > text.size()) return space + 1;
  std::size_t at = text.size();
  for (int back = 0; back < 4 && at > 0; ++back) {
    const auto byte = static_cast<unsigned char>(text[--at]);
    if (byte < 0x80) return at + 1;
    if (byte >= 0xC0) return at;  // it may be incomplete
  }
  return text.size();  // not UTF-8
}

}  // namespace

TextLines::TextLines(const std::string& path, LineForm form)
    : name_(path == "-" ? "standard input" : path), buffer_(kChunk), form_(form) {
  descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    const int reason = errno;
    // Whoever writes a text where a file is expected has read of commands that take a text.
    if (reason == ENOENT && (path.empty() || path.find(' ') != std::string::npos))
      throw FileError(
          path.empty() ? "\"\"" : name_, "",
          "is not a file: texts come from a file, one per line, or through a pipe, for which give -");
    throw FileError(name_, "", joined("cannot be opened: ", std::strerror(reason)));
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
    throw FileError(name_, "", "is a folder, expected a file of texts");
  }
  if (S_ISREG(status.st_mode)) total_ = static_cast<std::uint64_t>(status.st_size);
}

TextLines::~TextLines() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

// More bytes to read, if there are any.
bool TextLines::fill() {
  while (unread_.empty()) {
    const ssize_t count = ::read(descriptor_, buffer_.data(), buffer_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw FileError(name_, joined("line ", line_ + 1), joined("cannot be read: ", std::strerror(errno)));
    if (count == 0) return false;
    unread_ = {buffer_.data(), static_cast<std::size_t>(count)};
    bytes_ += static_cast<std::uint64_t>(count);
  }
  return true;
}

// Appends to a text up to the end of the line, or until it is one byte longer than a text may be.
void TextLines::take(std::string& text) {
  continues_ = true;
  while (text.size() <= kLongest && fill()) {
    const std::string_view here = unread_.substr(0, kLongest + 1 - text.size());
    const std::size_t end = here.find('\n');
    text.append(here.substr(0, end));
    unread_.remove_prefix(end == std::string_view::npos ? here.size() : end + 1);
    if (end != std::string_view::npos) {
      continues_ = false;
      break;
    }
  }
  if (continues_ && text.size() <= kLongest) continues_ = false;  // the end of the file
  if (!continues_ && text.ends_with('\r')) text.pop_back();
}

// Holds back what is beyond the length limit of a text.
void TextLines::cut(std::string& text) {
  held_.clear();
  if (!continues_) return;
  const std::size_t place = place_to_cut(std::string_view(text).substr(0, kLongest));
  held_.assign(text, place);
  text.resize(place);
}

bool TextLines::next(std::string& text) {
  while (continues_) {  // skips the rest of the last line
    if (!fill()) return false;
    const std::size_t end = unread_.find('\n');
    unread_.remove_prefix(end == std::string_view::npos ? unread_.size() : end + 1);
    continues_ = end == std::string_view::npos;
  }
  if (!fill()) return false;
  text.clear();
  take(text);
  if (line_++ == 0 && text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (form_ == LineForm::json) {
    parse(text);
    return true;
  }
  cut(text);
  if (!io::is_utf8(text)) text = io::repair_utf8(text);
  return true;
}

void TextLines::more(std::string& text) {
  text = std::move(held_);
  take(text);
  cut(text);
  if (!io::is_utf8(text)) text = io::repair_utf8(text);
}

void TextLines::parse(std::string& text) {
  const std::string where = joined("line ", line_);
  if (continues_)
    throw FileError(name_, where,
                    joined("has more than ", kLongest >> 20, " MiB, the most that a line of JSON may have"));
  std::optional<std::string_view> found;
  try {
    io::JsonReader json(name_, text);
    if (json.kind() == io::JsonKind::string) {
      found = json.string(where);
    } else if (json.kind() == io::JsonKind::object) {
      json.object(where, [&](std::string_view key) {
        if (key == "text" && json.kind() == io::JsonKind::string) {
          found = json.string(where);
        } else {
          json.skip(where);
        }
      });
    } else {
      json.skip(where);
    }
    json.end();
  } catch (const io::JsonSyntaxError& error) {
    throw FileError(name_, where, joined("is not JSON: ", error.sentence()));
  }
  if (!found) throw FileError(name_, where, "is neither a string nor an object with a string \"text\"");
  text = std::string(*found);
}

}  // namespace attend::embed
