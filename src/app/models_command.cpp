// attend models: what can be named with -m.
#include <unistd.h>

#include <memory>

#include "app/command.h"
#include "app/output.h"
#include "inventory/listing.h"

namespace attend::app {
namespace {

constexpr const char* kModelsFooter = R"(
Lists the models in the hub's cache and in attend's own folder under the names
that -m takes, and the reason for each that attend cannot read. Given folders, it
lists what is in them instead: model folders, GGUF files, caches of the hub. Only
the config, the tokenizer and the headers of the weights are read.

  heads   9 on 3: nine heads of queries, which share three of keys and values
  it      writes (a language model), vectors (a sentence model) or reads (an
          encoder)

Try:
  attend models
  attend models ~/models --json
  attend models --families)";

struct ModelsArguments {
  std::vector<std::string> folders;
  bool families = false, json = false;
};

void run_models(const ModelsArguments& given, const Globals& globals) {
  if (given.families && !given.folders.empty())
    throw UsageError("--families lists what attend can read, so it takes no folder");
  const draw::Terminal terminal = draw::detect_terminal(STDOUT_FILENO, globals.color);
  if (given.families) {
    if (given.json) return write_output(inventory::families_json());
    return write_styled(inventory::families_text(terminal));
  }
  const inventory::Inventory found =
      given.folders.empty() ? inventory::known_models() : inventory::models_in(given.folders);
  if (given.json) return write_output(inventory::models_json(found));
  write_styled(inventory::models_text(found, terminal));
}

}  // namespace

void add_models_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("models", "List the models on this machine, and whether attend reads them");
  const auto given = std::make_shared<ModelsArguments>();
  command->add_option("folder", given->folders, "Folders to look into instead, or GGUF files")
      ->type_name("FOLDER");
  command->add_flag("--families", given->families, "List the families that attend reads")
      ->disable_flag_override();
  command->add_flag("--json", given->json, "Print one JSON object")->disable_flag_override();
  add_color_option(*command, globals);
  command->footer(kModelsFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_models(*given, globals); }; });
}

}  // namespace attend::app
