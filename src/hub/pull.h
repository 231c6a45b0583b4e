// Downloads a model from the hub into its cache, where every tool that uses the hub finds it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "hub/settings.h"

namespace attend::hub {

struct PullProgress {
  std::string file;                    // the current file
  int number = 0, count = 0;           // which one, of how many
  std::uint64_t bytes = 0, total = 0;  // of this file
};

// Downloads what is missing of "ORG/NAME[@REVISION]" and returns the snapshot's folder. The revision's name
// points to it only once it is complete. Where the hub cannot be reached, or may not be asked, the model that
// is on this machine already is the answer; `say` is told so in a sentence. Throws FileError.
std::filesystem::path pull(const HubSettings& settings, std::string_view name,
                           const std::function<void(const std::string&)>& say,
                           const std::function<void(const PullProgress&)>& progress);

}  // namespace attend::hub
