// attend generate: text from a model that writes.
#include <attend/generation.h>

#include <cmath>
#include <memory>
#include <optional>

#include "app/command.h"
#include "app/output.h"
#include "draw/text_width.h"

namespace attend::app {
namespace {

struct GenerateArguments {
  std::string model, prompt = "\n";
  std::optional<std::int64_t> tokens;
  Sampling sampling{};
  bool new_only = false;
};

constexpr const char* kGenerateFooter = R"(
Works with every model that writes: causal ones, such as GPT-2, and those with an
encoder and a decoder. The same seed gives the same text. A model with an encoder
and a decoder, such as that of `attend train reverse`, reads PROMPT as its source
and writes its answer: by default as many tokens as the source has, always the
most probable ones.

Try:
  attend train text --set data.file=book.txt -o book
  attend generate -m book "Once upon a time"
  attend generate -m book "Once upon a time" --temperature 0)";

void run_generate(const GenerateArguments& options) {
  if (options.prompt.empty())
    throw UsageError("the prompt is empty; a model needs at least one token to continue");
  const std::optional<double>& temperature = options.sampling.temperature;
  if (temperature && !(*temperature >= 0 && std::isfinite(*temperature))) {
    throw UsageError("--temperature is not a number of at least 0");
  }
  const TextModel model = TextModel::load(options.model);
  Generator generator(model);
  const Generated written =
      generator.generate(options.prompt, {.max_tokens = options.tokens, .sampling = options.sampling});
  const bool answers = model.transformer().description().has_source();
  write_output((options.new_only || answers ? "" : options.prompt) + written.text + "\n");
}

}  // namespace

void add_generate_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  const auto options = std::make_shared<GenerateArguments>();
  CLI::App* const command = program.add_subcommand("generate", "Generate text with a causal model");
  command->add_option("PROMPT", options->prompt, "The text to continue (default: a newline)")->type_name("");
  command->add_option("-m,--model", options->model, "A folder, a GGUF file, or a model in the hub's cache")
      ->required()
      ->take_last()
      ->type_name("MODEL");
  command
      ->add_option("-n,--tokens", options->tokens, "How many tokens (default: 200, or as many as the source)")
      ->check(CLI::Range(1, 1000000))
      ->take_last()
      ->type_name("N");
  command
      ->add_option(
          "--temperature", options->sampling.temperature,
          "Higher is more random; 0 always takes the most probable token (default: 0.8, or 0 with a source)")
      ->take_last()
      ->type_name("T");
  command
      ->add_option("--top", options->sampling.top_k,
                   "Choose from the N most probable tokens; 0: from all (default: 40)")
      ->check(CLI::Range(0, 1000000))
      ->take_last()
      ->type_name("N");
  command
      ->add_option("--seed", options->sampling.seed, "A different number gives a different text (default: 1)")
      ->take_last()
      ->type_name("N");
  command->add_flag("--new-only", options->new_only, "Print only what follows the prompt")
      ->disable_flag_override();
  add_color_option(*command, globals);
  command->footer(kGenerateFooter);
  command->callback([options, &run] { run = [options] { run_generate(*options); }; });
}

}  // namespace attend::app
