#include "app/input_text.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "base/error.h"

namespace attend::app {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;

std::string read_all(std::istream& in, const std::string& name) {
  std::string text(kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw std::runtime_error(joined(name, " cannot be read: ", std::strerror(errno)));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostBytes)
    throw std::runtime_error(
        joined(name, " has more than ", kMostBytes >> 20, " MiB, more than a model reads"));
  return text;
}

}  // namespace

std::string input_text(const std::string& argument) {
  std::string text = argument, name = "the text";
  std::error_code error;
  if (argument == "-") {
    name = "standard input";
    text = read_all(std::cin, name);
  } else if (argument.size() < 4096 && std::filesystem::exists(argument, error)) {
    name = argument;
    if (!std::filesystem::is_regular_file(argument, error))
      throw std::runtime_error(name + " is no file that can be read as a text");
    std::ifstream file(argument, std::ios::binary);
    if (!file) throw std::runtime_error(joined(name, " cannot be opened: ", std::strerror(errno)));
    text = read_all(file, name);
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }))
    throw std::runtime_error(name + " is empty");
  return text;
}

}  // namespace attend::app
