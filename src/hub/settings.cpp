#include "hub/settings.h"

#include <attend/model_files.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace attend::hub {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A flag, as the hub's own library reads it.
bool is_yes(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string token_in_file(const std::filesystem::path& cache) {
  std::filesystem::path path = variable("HF_TOKEN_PATH");
  if (path.empty()) {
    const std::string home = variable("HF_HOME");
    path = home.empty() ? cache.parent_path() / "token" : std::filesystem::path(home) / "token";
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";  // a pipe would block
  // A token has forty characters; an endless line is not a token.
  constexpr std::size_t kLongest = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string start(kLongest + 1, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (file.bad()) throw std::runtime_error(path.string() + " cannot be read");
  start.resize(static_cast<std::size_t>(file.gcount()));
  start.resize(std::min(start.find('\n'), start.size()));
  if (start.size() > kLongest) throw std::runtime_error(path.string() + " is too long for a token");
  return start;
}

}  // namespace

HubSettings settings_from_environment() {
  HubSettings settings;
  settings.cache = hub_cache_folder();
  settings.offline = is_yes(variable("HF_HUB_OFFLINE"));
  if (const std::string endpoint = trimmed(variable("HF_ENDPOINT")); !endpoint.empty())
    settings.endpoint = endpoint;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  if (!settings.endpoint.starts_with("https://") && !settings.endpoint.starts_with("http://")) {
    throw std::runtime_error("HF_ENDPOINT does not begin with https:// or http://");
  }
  settings.token = trimmed(variable("HF_TOKEN"));
  if (settings.token.empty()) settings.token = trimmed(token_in_file(settings.cache));
  const auto printable = [](char c) { return c > 0x20 && c < 0x7F; };
  if (!std::all_of(settings.token.begin(), settings.token.end(), printable)) {
    throw std::runtime_error("HF_TOKEN holds characters that are not valid in a token");
  }
  return settings;
}

}  // namespace attend::hub
