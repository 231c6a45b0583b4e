#include "app/input_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "base/error.h"
#include "base/slips.h"

namespace attend::app {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;

// By descriptor: a stream would take a failed read for the end of the file.
std::string read_all(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::runtime_error(joined(name, " cannot be read: ", std::strerror(errno)));
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > kMostBytes)
      throw std::runtime_error(
          joined(name, " has more than ", kMostBytes >> 20, " MiB, which is more than a model reads"));
  }
}

std::string read_file(const std::string& path, const std::string& name) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error(joined(name, " cannot be opened: ", std::strerror(errno)));
  const std::unique_ptr<const int, void (*)(const int*)> closed(&descriptor,
                                                                [](const int* d) { ::close(*d); });
  return read_all(descriptor, name);
}

// The endings of files that hold text, or that people take for such.
constexpr const char* kEndings[] = {
    ".txt", ".text", ".md",   ".rst", ".tex", ".csv",  ".tsv", ".json", ".jsonl", ".html", ".htm", ".xml",
    ".pdf", ".doc",  ".docx", ".odt", ".rtf", ".epub", ".log", ".py",   ".c",     ".h",    ".cc",  ".cpp",
    ".hpp", ".js",   ".ts",   ".rs",  ".go",  ".java", ".sh",  ".yaml", ".yml",   ".toml", ".srt", ".vtt",
};

// Whether an argument that names no file was meant to: a path, or one word that ends as a file does.
bool looks_like_a_file(const std::string& argument) {
  if (argument.empty() || argument.find('\n') != argument.npos || argument.size() >= 4096) return false;
  const bool path = argument.starts_with('/') || argument.starts_with("./") || argument.starts_with("../") ||
                    argument.starts_with("~/");
  const bool one_word = std::ranges::none_of(argument, [](unsigned char c) { return std::isspace(c) != 0; });
  std::string ending = std::filesystem::path(argument).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool known = std::ranges::find(kEndings, ending) != std::end(kEndings);
  return one_word ? path || known : path && known;
}

// A file beside the one that is not there, whose name is nearly the same; empty where there is none.
std::string close_file(const std::filesystem::path& path) {
  constexpr std::size_t kMostSlips = 2;
  constexpr int kMostEntries = 10'000;
  const std::string wanted = path.filename().string();
  std::filesystem::path best;
  std::size_t least = kMostSlips + 1;
  std::error_code error;
  std::filesystem::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", error);
  for (int seen = 0; !error && entry != std::filesystem::directory_iterator() && seen < kMostEntries;
       ++seen) {
    const std::filesystem::path name = entry->path().filename();
    std::error_code unknown;
    const std::size_t far = slips_between(wanted, name.string());
    if (far < least && entry->is_regular_file(unknown)) {
      least = far;
      best = path.has_parent_path() ? path.parent_path() / name : name;
    }
    entry.increment(error);
  }
  return best.string();
}

[[noreturn]] void refuse_missing(const std::string& argument) {
  const std::string close = close_file(argument);
  throw std::runtime_error(joined("there is no file ", argument,
                                  close.empty() ? "" : ", but there is " + close,
                                  "; to use the name itself as the text, pipe it in and give -"));
}

// What is not text, and what may have been meant.
void require_text(const std::string& text, const std::string& name) {
  if (text.starts_with("GGUF"))
    throw std::runtime_error(joined(name, " is a model; -m ", name, " reads a text with it"));
  if (text.find('\0') != text.npos)
    throw std::runtime_error(joined(name, " is not a text: it holds zero bytes"));
}

}  // namespace

std::string input_text(const std::string& argument) {
  std::string text = argument, name = "the text";
  std::error_code error;
  if (argument == "-") {
    name = "standard input";
    text = read_all(STDIN_FILENO, name);
  } else if (argument.size() < 4096 && std::filesystem::exists(argument, error)) {
    name = argument;
    if (std::filesystem::is_directory(argument, error))
      throw std::runtime_error(name + " is a folder, expected a text or a file of text");
    if (!std::filesystem::is_regular_file(argument, error))
      throw std::runtime_error(name + " is not a file that can be read as text");
    text = read_file(argument, name);
    require_text(text, name);
  } else if (looks_like_a_file(argument)) {
    refuse_missing(argument);
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }))
    throw std::runtime_error(name + " is empty");
  return text;
}

}  // namespace attend::app
