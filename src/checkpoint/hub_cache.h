// The layout of the hub's cache: models--ORG--NAME/{refs,snapshots,blobs}.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace attend::checkpoint {

struct HubName {
  std::string repository;  // "ORG/NAME" or "NAME"
  std::string revision = "main";
};

// From "ORG/NAME@REVISION"; nothing where that is not a name that the hub could have.
std::optional<HubName> parse_hub_name(std::string_view text);

// models--ORG--NAME in the cache.
std::filesystem::path repository_folder(const std::filesystem::path& cache, std::string_view repository);

// The snapshot that a revision stands for, which may be a branch, a tag or a commit; nothing where it is not
// in the cache.
std::optional<std::filesystem::path> find_snapshot(const std::filesystem::path& cache, const HubName& name);

// Where a model of that name is kept: a snapshot in the hub's cache, else (of "main") in models_folder().
std::optional<std::filesystem::path> kept_folder(const HubName& name);

}  // namespace attend::checkpoint
