// Files and folders. Each file is opened once, and what is open is what is checked and read.
#include <attend/file_error.h>
#include <attend/gguf.h>
#include <attend/model_files.h>
#include <attend/tokenizer.h>

#include <optional>
#include <utility>

#include "text/parts.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileSize = 256 << 20;  // the largest known has 34 MB

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_vocabulary(const fs::path& path) { return path.extension() == ".txt"; }

std::shared_ptr<const Tokenizer::Parts> read_parts_of_gguf(const ModelFile& file) {
  return text::read_gguf_tokenizer(Gguf::open(file));
}

// `config` is for a vocab.txt alone.
std::shared_ptr<const Tokenizer::Parts> read_parts(const io::InputFile& file, const io::InputFile* config) {
  io::FileText text = io::read_text(file, kMaxFileSize);
  if (!is_vocabulary(file.name())) return text::read_tokenizer(io::JsonDocument(std::move(text)));
  std::optional<io::FileText> config_text;
  if (config != nullptr) config_text = io::read_text(*config, kMaxFileSize);
  return text::read_bert_vocabulary(text, std::move(config_text));
}

}  // namespace

Tokenizer Tokenizer::from_json(std::string_view json, const std::string& name) {
  return Tokenizer(text::read_tokenizer(io::JsonDocument(name, json)));
}

Tokenizer Tokenizer::load(const fs::path& path) {
  std::error_code error;
  fs::path file = path;
  if (fs::is_directory(path, error)) {
    file = path / "tokenizer.json";
    if (!is_there(file)) file = path / "vocab.txt";
    if (!is_there(file)) throw FileError(path.string(), "", "has neither a tokenizer.json nor a vocab.txt");
  }
  const ModelFile opened(file, std::make_shared<const io::InputFile>(file));
  if (Gguf::recognises(opened)) return Tokenizer(read_parts_of_gguf(opened));
  std::optional<io::InputFile> config;
  const fs::path beside = file.parent_path() / "tokenizer_config.json";
  if (is_vocabulary(file) && is_there(beside)) config.emplace(beside);
  return Tokenizer(read_parts(*opened.opened(), config ? &*config : nullptr));
}

Tokenizer Tokenizer::load(const ModelFiles& files) {
  if (files.tokenizer.empty()) {
    throw FileError(files.folder.string(), "",
                    "there is neither tokenizer.json nor vocab.txt in this folder");
  }
  if (Gguf::recognises(files.tokenizer)) return Tokenizer(read_parts_of_gguf(files.tokenizer));
  return Tokenizer(read_parts(*files.tokenizer.opened(), files.tokenizer_config.opened().get()));
}

}  // namespace attend
