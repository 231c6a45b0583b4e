#include "explore/models.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "http/message.h"

namespace attend::explore {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNames = 200, kMostLoaded = 2;

// The folders in a folder; empty if it cannot be read.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    if (entry->is_directory(unreadable)) found.push_back(entry->path());
  }
  return found;
}

// models--ORG--NAME
std::optional<std::string> name_in_cache(const std::string& folder) {
  constexpr std::string_view kPrefix = "models--";
  if (!folder.starts_with(kPrefix)) return std::nullopt;
  std::string name = folder.substr(kPrefix.size());
  if (const std::size_t dashes = name.find("--"); dashes != name.npos) name.replace(dashes, 2, "/");
  return name;
}

bool is_there(const std::string& name) {
  try {
    find_model(name);
    return true;
  } catch (const FileError&) {
    return false;
  }
}

}  // namespace

Models::Models(std::string first, const ModelOptions& options) : first_(std::move(first)), options_(options) {
  load(std::nullopt);
}

std::vector<std::string> Models::names() const {
  std::set<std::string> found;
  for (const fs::path& folder : folders_in(hub_cache_folder())) {
    if (const auto name = name_in_cache(folder.filename().string())) found.insert(*name);
  }
  for (const fs::path& organisation : folders_in(models_folder())) {
    for (const fs::path& folder : folders_in(organisation))
      found.insert(organisation.filename().string() + "/" + folder.filename().string());
  }
  found.erase(first_);
  std::vector<std::string> names = {first_};
  for (const std::string& name : found) {
    if (names.size() < kMostNames && is_there(name)) names.push_back(name);
  }
  return names;
}

TextModel Models::load(const std::optional<std::string>& given) {
  const std::string& name = given ? *given : first_;
  auto place =
      std::find_if(loaded_.begin(), loaded_.end(), [&](const auto& entry) { return entry.first == name; });
  if (place == loaded_.end()) {
    const std::vector<std::string> known = name == first_ ? std::vector{first_} : names();
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw http::RequestError(400, "that model is not on this machine; /api/models lists those that are");
    loaded_.emplace_front(name, TextModel::load(name, options_));
    if (loaded_.size() > kMostLoaded) loaded_.pop_back();
    return loaded_.front().second;
  }
  loaded_.splice(loaded_.begin(), loaded_, place);
  return loaded_.front().second;
}

}  // namespace attend::explore
