#include "checkpoint/hub_cache.h"

#include <attend/model_files.h>

#include <algorithm>
#include <cstdlib>

#include "io/fail.h"
#include "io/open_file.h"

namespace attend {
namespace checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kLongestReference = 256;

// Letters, digits, dots, dashes and underscores, beginning with none of the latter three.
bool is_hub_word(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !word.empty() && word.size() <= kLongestName && plain(word.front()) &&
         std::all_of(word.begin(), word.end(),
                     [&](char c) { return plain(c) || c == '.' || c == '-' || c == '_'; });
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

fs::path caches_folder() {
  if (const char* const caches = variable("XDG_CACHE_HOME")) return caches;
  const char* const home = variable("HOME");
  return home != nullptr ? fs::path(home) / ".cache" : fs::path(".cache");
}

}  // namespace

std::optional<HubName> parse_hub_name(std::string_view text) {
  HubName name;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    name.revision = text.substr(at + 1);
    text = text.substr(0, at);
    if (!is_hub_word(name.revision)) return std::nullopt;
  }
  const std::size_t slash = text.find('/');
  if (!is_hub_word(text.substr(0, slash))) return std::nullopt;
  if (slash != std::string_view::npos && !is_hub_word(text.substr(slash + 1))) return std::nullopt;
  name.repository = text;
  return name;
}

fs::path repository_folder(const fs::path& cache, std::string_view repository) {
  std::string folder = "models--";
  for (const char c : repository) folder += c == '/' ? "--" : std::string(1, c);
  return cache / folder;
}

std::optional<fs::path> find_snapshot(const fs::path& cache, const HubName& name) {
  const fs::path repository = repository_folder(cache, name.repository);
  std::error_code error;
  if (!fs::is_directory(repository, error)) return std::nullopt;
  std::string commit = name.revision;
  const fs::path reference = repository / "refs" / name.revision;
  if (fs::exists(reference, error)) {
    const io::FileText text = io::read_text(io::InputFile(reference), kLongestReference);
    commit.assign(text.span().begin(), text.span().end());
    while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r' || commit.back() == ' '))
      commit.pop_back();
    if (!is_hub_word(commit)) io::fail(reference.string(), "", "does not hold the name of a commit");
  }
  fs::path snapshot = repository / "snapshots" / commit;
  if (!fs::is_directory(snapshot, error)) return std::nullopt;
  return snapshot;
}

std::optional<fs::path> kept_folder(const HubName& name) {
  if (auto snapshot = find_snapshot(hub_cache_folder(), name)) return snapshot;
  std::error_code error;
  fs::path own = models_folder() / name.repository;
  if (name.revision == HubName{}.revision && fs::is_directory(own, error)) return own;
  return std::nullopt;
}

}  // namespace checkpoint

std::filesystem::path hub_cache_folder() {
  using checkpoint::variable;
  if (const char* const cache = variable("HF_HUB_CACHE")) return cache;
  if (const char* const home = variable("HF_HOME")) return std::filesystem::path(home) / "hub";
  return checkpoint::caches_folder() / "huggingface" / "hub";
}

std::filesystem::path models_folder() {
  if (const char* const models = checkpoint::variable("ATTEND_MODELS")) return models;
  return checkpoint::caches_folder() / "attend" / "models";
}

}  // namespace attend
