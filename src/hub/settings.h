// Where the hub is, and which token to use: read from the same environment variables as the hub's own tools.
#pragma once

#include <filesystem>
#include <string>

namespace attend::hub {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a trailing slash
  std::string token;            // HF_TOKEN, else the file HF_TOKEN_PATH or HF_HOME/token; may be empty
  bool offline = false;         // HF_HUB_OFFLINE
  std::filesystem::path cache;  // attend::hub_cache_folder()
};

// Throws std::runtime_error for an invalid endpoint or token.
HubSettings settings_from_environment();

}  // namespace attend::hub
