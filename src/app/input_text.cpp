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

}  // namespace

std::string input_text(const std::string& argument) {
  std::string text = argument, name = "the text";
  std::error_code error;
  if (argument == "-") {
    name = "standard input";
    text = read_all(STDIN_FILENO, name);
  } else if (argument.size() < 4096 && std::filesystem::exists(argument, error)) {
    name = argument;
    if (!std::filesystem::is_regular_file(argument, error))
      throw std::runtime_error(name + " is not a file that can be read as text");
    text = read_file(argument, name);
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }))
    throw std::runtime_error(name + " is empty");
  return text;
}

}  // namespace attend::app
