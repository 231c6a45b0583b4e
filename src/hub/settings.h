// Where the hub is, and as whom it is asked: what the hub's own tools read from the environment.
#pragma once

#include <filesystem>
#include <string>

namespace attend::hub {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a slash at its end
  std::string token;            // HF_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token; may be empty
  bool offline = false;         // HF_HUB_OFFLINE
  std::filesystem::path cache;  // attend::hub_cache_folder()
};

// Throws std::runtime_error for an endpoint or a token that cannot be one.
HubSettings settings_from_environment();

}  // namespace attend::hub
