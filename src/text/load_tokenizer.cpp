// Files and folders.
#include <attend/file_error.h>
#include <attend/tokenizer.h>

#include <fstream>
#include <optional>

#include "text/parts.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxFileSize = 256 << 20;  // the largest known has 34 MB

std::string read_file(const fs::path& path) {
  const std::string name = path.string();
  std::error_code error;
  const auto status = fs::status(path, error);
  if (error || !fs::exists(status)) throw FileError(name, "", "there is no such file");
  if (!fs::is_regular_file(status)) throw FileError(name, "", "is not a regular file");
  const auto size = fs::file_size(path, error);
  if (error) throw FileError(name, "", "cannot be read");
  if (size > kMaxFileSize) {
    throw FileError(name, "",
                    "has " + std::to_string(size) + " bytes, more than the " + std::to_string(kMaxFileSize) +
                        " that are allowed");
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (!file || !file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    throw FileError(name, "", "cannot be read");
  }
  return bytes;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

Tokenizer Tokenizer::from_json(std::string_view json, const std::string& name) {
  return Tokenizer(text::read_tokenizer(name, json));
}

Tokenizer Tokenizer::load(const fs::path& path) {
  std::error_code error;
  fs::path file = path;
  if (fs::is_directory(path, error)) {
    file = path / "tokenizer.json";
    if (!is_there(file)) file = path / "vocab.txt";
    if (!is_there(file)) throw FileError(path.string(), "", "has neither a tokenizer.json nor a vocab.txt");
  }
  if (file.extension() != ".txt") return from_json(read_file(file), file.string());
  const fs::path config = file.parent_path() / "tokenizer_config.json";
  return Tokenizer(text::read_bert_vocabulary(file.string(), read_file(file), config.string(),
                                              is_there(config) ? read_file(config) : std::string()));
}

}  // namespace attend
