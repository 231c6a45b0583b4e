// attend pull: downloads a model from the hub into the standard cache.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "app/command.h"
#include "app/output.h"
#include "app/status_line.h"
#include "draw/text_width.h"
#include "hub/pull.h"

namespace attend::app {
namespace {

constexpr const char* kPullFooter = R"(
Downloads config, tokenizer, safetensors and the files of sentence-transformers
into the cache that all tools of the hub share. Files that are already there are
not downloaded again, and an interrupted download is resumed. Every file is
checked by size and hash. Prints the folder.

HF_TOKEN is for private models, HF_ENDPOINT for a different hub; HF_HUB_CACHE and
HF_HOME set the location of the cache; with HF_HUB_OFFLINE=1 nothing is
downloaded.

Try:
  attend pull sentence-transformers/all-MiniLM-L6-v2
  attend pull intfloat/e5-small-v2@main)";

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

void run_pull(const std::string& name) {
  std::filesystem::path folder;
  {
    PullStatus line;
    folder = hub::pull(hub::settings_from_environment(), name,
                       [&](const hub::PullProgress& state) { line.show(state); });
  }
  write_output(folder.string() + "\n");
}

}  // namespace

void add_pull_command(CLI::App& program, Globals&, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("pull", "Download a model from the hub into the standard cache");
  const auto name = std::make_shared<std::string>();
  command->add_option("model", *name, "ORG/NAME, optionally with @REVISION")
      ->required()
      ->type_name("REPO[@REV]");
  command->footer(kPullFooter);
  command->callback([&run, name] { run = [name] { run_pull(*name); }; });
}

}  // namespace attend::app
