#include "app/get_model.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "app/output.h"
#include "app/status_line.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/known_models.h"
#include "draw/text_width.h"
#include "hub/get.h"
#include "hub/pull.h"

namespace attend::app {
namespace {

std::string megabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

// A status line on a terminal: which file, how much of it, and how fast; updated at most ten times a second.
class PullStatus {
 public:
  void show(const hub::PullProgress& state) {
    if (!line_.watched()) return;
    const auto now = std::chrono::steady_clock::now();
    if (state.number != number_) {
      number_ = state.number;
      first_bytes_ = state.bytes;
      start_ = now;
    } else if (!line_.due() && state.bytes < state.total) {
      return;
    }
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::string line = std::to_string(state.number) + "/" + std::to_string(state.count) + "  " +
                       draw::shorten(draw::printable(state.file), 40) + "  " + megabytes(state.bytes) +
                       " of " + megabytes(state.total);
    if (seconds > 0.5) {
      const double rate = static_cast<double>(state.bytes - std::min(state.bytes, first_bytes_)) / seconds;
      line += "  " + megabytes(static_cast<std::uint64_t>(rate)) + "/s";
      if (rate > 0)
        line += "  " +
                std::to_string(static_cast<long>(static_cast<double>(state.total - state.bytes) / rate)) +
                " s left";
    }
    line_.show(line);
  }

 private:
  StatusLine line_;
  int number_ = 0;
  std::uint64_t first_bytes_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

std::filesystem::path get_model(const std::string& name) {
  PullStatus line;
  const auto progress = [&](const hub::PullProgress& state) { line.show(state); };
  const hub::HubSettings settings = hub::settings_from_environment();
  if (const checkpoint::KnownModel* const known = checkpoint::known_model(name))
    return hub::get(settings, *known, say, progress);
  return hub::pull(settings, name, say, progress);
}

void get_default_model(const std::string& name) {
  std::error_code error;
  const checkpoint::KnownModel* const known = checkpoint::known_model(name);
  if (known != nullptr && !std::filesystem::exists(name, error) &&
      !checkpoint::kept_folder({.repository = std::string(known->repository)}))
    get_model(name);
}

TextModel open_model(const std::string& name, const ModelOptions& options) {
  get_default_model(name);
  return TextModel::load(name, options);
}

}  // namespace attend::app
