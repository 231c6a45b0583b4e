#include "inventory/find_models.h"

#include <attend/model_files.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "checkpoint/hub_cache.h"
#include "io/fail.h"

namespace attend::inventory {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRepositoryPrefix = "models--";
constexpr std::size_t kMostSnapshots = 16;  // of one repository

// Collects the models of one place after the other. Links may lead in circles, and folders may have any
// number of entries: each folder is entered once, and entries are counted.
class Search {
 public:
  // The models in a folder and in those inside it, `depth` deep. named: their names are relative to it, as -m
  // takes them; else they are paths.
  void look_in(const fs::path& place, int depth, bool named) {
    inventory_.places.push_back(place.string());
    place_ = place;
    named_ = named;
    entries_ = 0;
    if (std::error_code error; !fs::is_directory(place, error)) return add_named(place.string(), place);
    if (is_model_folder(place)) add_named(place.string(), place);
    visit(place, depth);
    if (entries_ >= kMostEntries)
      note(joined("has more than ", kMostEntries, " entries; only these were looked at"));
  }

  Inventory finish() { return std::move(inventory_); }

 private:
  void note(const std::string& what) {
    inventory_.notes.push_back(joined(io::shown(place_.string()), ": ", what, "."));
  }

  bool entered_before(const fs::path& folder) {
    struct stat found {};
    if (stat(folder.c_str(), &found) != 0) return true;
    return !entered_.emplace(found.st_dev, found.st_ino).second;
  }

  void visit(const fs::path& folder, int depth) {
    if (entered_before(folder)) return;
    std::error_code error;
    std::vector<fs::path> entries;
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator() && entries_ < kMostEntries; ++entries_) {
      entries.push_back(entry->path());
      entry.increment(error);
    }
    if (error) note(joined(io::shown(folder.filename().string()), " cannot be read: ", error.message()));
    std::sort(entries.begin(), entries.end());
    for (const fs::path& one : entries) look_at(one, depth);
  }

  void look_at(const fs::path& path, int depth) {
    std::error_code error;
    const std::string name = path.filename().string();
    if (fs::is_directory(path, error)) {
      if (name.starts_with(kRepositoryPrefix)) return look_at_repository(path, name);
      if (is_model_folder(path)) return add(path);
      if (depth > 0) visit(path, depth - 1);
    } else if (path.extension() == ".gguf" && fs::is_regular_file(path, error)) {
      add_named(path.string(), path);  // -m takes no other name for a file
    }
  }

  // models--ORG--NAME: the snapshot of its branch main, else those that there are.
  void look_at_repository(const fs::path& folder, const std::string& name) {
    std::string repository = name.substr(kRepositoryPrefix.size());
    if (const std::size_t dashes = repository.find("--"); dashes != repository.npos)
      repository.replace(dashes, 2, "/");
    const std::optional<checkpoint::HubName> hub = checkpoint::parse_hub_name(repository);
    if (!hub || checkpoint::repository_folder(folder.parent_path(), repository) != folder)
      return add_broken(folder.string(), folder, "is not a name that a model on the hub could have");
    const bool by_name = named_ || folder.parent_path() == hub_cache_folder();
    const auto called = [&](const std::string& revision, const fs::path& snapshot) {
      return by_name ? repository + revision : snapshot.string();
    };
    try {
      if (const auto snapshot = checkpoint::find_snapshot(folder.parent_path(), *hub))
        return add_snapshot(called("", *snapshot), *snapshot);
    } catch (const FileError& error) {
      return add_broken(called("", folder), folder, error.rule());
    }
    std::error_code error;
    std::vector<fs::path> snapshots;
    fs::directory_iterator entry(folder / "snapshots", error);
    for (; !error && entry != fs::directory_iterator() && snapshots.size() < kMostSnapshots; ++entries_) {
      snapshots.push_back(entry->path());
      entry.increment(error);
    }
    std::sort(snapshots.begin(), snapshots.end());
    for (const fs::path& snapshot : snapshots)
      add_snapshot(called("@" + snapshot.filename().string(), snapshot), snapshot);
    if (snapshots.empty()) add_broken(called("", folder), folder, "its download has not finished");
  }

  // A repository of GGUF files has no config.json; each file is a model.
  void add_snapshot(std::string name, const fs::path& snapshot) {
    const std::size_t before = inventory_.models.size();
    if (!is_model_folder(snapshot)) visit(snapshot, 0);
    if (inventory_.models.size() == before) add_named(std::move(name), snapshot);
  }

  void add(const fs::path& folder) {
    const std::string relative = folder.lexically_relative(place_).string();
    // A name that the hub's cache has as well means the model there.
    const bool taken = std::any_of(inventory_.models.begin(), inventory_.models.end(),
                                   [&](const ModelEntry& model) { return model.name == relative; });
    const bool possible = named_ && !taken && checkpoint::parse_hub_name(relative).has_value();
    add_named(possible ? relative : folder.string(), folder);
  }

  bool full() {
    if (inventory_.models.size() < kMostModels) return false;
    if (inventory_.models.size() == kMostModels && !told_) {
      note(joined("has more than ", kMostModels, " models; only these are listed"));
      told_ = true;
    }
    return true;
  }

  void add_named(std::string name, const fs::path& path) {
    if (!full()) inventory_.models.push_back(describe_entry(std::move(name), path));
  }
  void add_broken(std::string name, const fs::path& path, std::string problem) {
    if (!full())
      inventory_.models.push_back({.name = std::move(name), .path = path, .problem = std::move(problem)});
  }

  Inventory inventory_;
  fs::path place_;
  bool named_ = false, told_ = false;
  int entries_ = 0;
  std::set<std::pair<dev_t, ino_t>> entered_;
};

}  // namespace

Inventory known_models() {
  constexpr int kOrganisations = 1;  // models are kept as ORG/NAME
  Search search;
  std::error_code error;
  for (const auto& [place, depth] :
       {std::pair(hub_cache_folder(), 0), std::pair(models_folder(), kOrganisations)})
    if (fs::exists(place, error)) search.look_in(place, depth, true);
  return search.finish();
}

Inventory models_in(std::span<const std::string> folders) {
  constexpr int kDepth = 2;
  Search search;
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!fs::exists(folder, error)) throw std::invalid_argument(joined(io::shown(folder), " does not exist"));
    search.look_in(folder, kDepth, false);
  }
  return search.finish();
}

}  // namespace attend::inventory
