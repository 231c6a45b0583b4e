// The models on this machine: in the hub's cache, in attend's own folder, or in folders that are named.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "inventory/model_entry.h"

namespace attend::inventory {

// How many entries of folders are looked at, and how many models described, however many there are.
inline constexpr int kMostEntries = 20'000;
inline constexpr std::size_t kMostModels = 1'000;

struct Inventory {
  std::vector<std::string> places{};  // that were looked at
  std::vector<ModelEntry> models{};   // by name, place after place
  std::vector<std::string> notes{};   // one sentence for each place that could not be seen in full
};

// What -m finds by name: the hub's cache, then models_folder(). A place that does not exist holds nothing.
Inventory known_models();

// In these folders, and in folders inside them, two deep: folders with a config.json, GGUF files, caches of
// the hub. A file is taken for a model. Throws std::invalid_argument for what does not exist.
Inventory models_in(std::span<const std::string> folders);

}  // namespace attend::inventory
