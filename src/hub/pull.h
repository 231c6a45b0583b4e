// A model from the hub into its cache, where every tool that knows the hub finds it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "hub/settings.h"

namespace attend::hub {

struct PullProgress {
  std::string file;                    // at work on this one
  int number = 0, count = 0;           // of so many
  std::uint64_t bytes = 0, total = 0;  // of this file
};

// Brings what is missing of "ORG/NAME[@REVISION]"; returns the snapshot's folder. The revision's name points
// to it only when all of it is there. Throws FileError.
std::filesystem::path pull(const HubSettings& settings, std::string_view name,
                           const std::function<void(const PullProgress&)>& progress);

}  // namespace attend::hub
