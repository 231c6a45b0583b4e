// attend explore: serves the explorer page on a local port.
#include <memory>
#include <optional>

#include "app/command.h"
#include "app/get_model.h"
#include "app/input_text.h"
#include "app/model_options.h"
#include "app/output.h"
#include "base/error.h"
#include "explore/server.h"
#include "http/memory.h"

namespace attend::app {
namespace {

constexpr const char* kFirstText = "The animal didn't cross the street because it was too tired.";

constexpr const char* kExploreFooter = R"(
Prints the address of a page that shows attention between the words of a text,
for every head, at any zoom, down to the products behind a single weight. TEXT
is a text, the name of a file, or - for standard input; other texts can be
entered on the page. A file that ends in .attn is the recording of a pass of any
model, made in Python. The page can only be reached from this machine, and
contacts no other. Press Ctrl-C to stop.

Try:
  attend explore
  attend explore notes.txt --model ./my-model --port 9000)";

struct ExploreArguments {
  ModelOptions model_options;
  std::optional<std::string> text;
  std::string model{kDefaultModel}, sink = "auto";
  std::optional<int> port;
};

void serve(explore::Api& api, const ExploreArguments& given) {
  explore::serve(api, {.port = static_cast<std::uint16_t>(given.port.value_or(0)),
                       .ready = [](const std::string& address) { write_output(address + "\n"); }});
}

void run_explore(const ExploreArguments& given) {
  http::return_free_memory_early();
  if (given.port && (*given.port < 1 || *given.port > 65535))
    throw UsageError(joined("--port is ", *given.port, ", expected 1 to 65535"));
  if (given.text && is_recording(*given.text)) {
    require_no_model(given.model, given.model_options, *given.text);
    explore::Api api(std::filesystem::path(*given.text), *sink_choice_named(given.sink));
    return serve(api, given);
  }
  const std::string text = given.text ? input_text(*given.text) : kFirstText;
  if (text.size() > explore::kMostBodyBytes / 2)  // it may take twice as much as JSON
    throw std::runtime_error(joined("the text has more than ", explore::kMostBodyBytes / 2048,
                                    " KiB, which is more than the page can send"));
  get_default_model(given.model);
  explore::Api api(given.model, text, *sink_choice_named(given.sink), given.model_options);
  serve(api, given);
}

}  // namespace

void add_explore_command(CLI::App& program, Globals&, std::function<void()>& run) {
  CLI::App* const command = program.add_subcommand(
      "explore", "Explore attention in the browser, on a page served from this machine");
  const auto given = std::make_shared<ExploreArguments>();
  command->add_option("text", given->text, "A text, a file, or - for standard input")->type_name("TEXT");
  add_model_option(*command, given->model);
  add_precision_option(*command, given->model_options);
  command->add_option("--port", given->port, "The port (default: 8080, or the next that is free)")
      ->type_name("N");
  add_sink_option(*command, given->sink);
  command->footer(kExploreFooter);
  command->callback([given, &run] { run = [given] { run_explore(*given); }; });
}

}  // namespace attend::app
