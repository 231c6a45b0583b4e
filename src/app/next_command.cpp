// attend next: what a language model expects next, and why.
#include <unistd.h>

#include <memory>
#include <optional>

#include "app/command.h"
#include "app/figure_output.h"
#include "app/get_model.h"
#include "app/input_text.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/unknown_words.h"
#include "explain/next.h"

namespace attend::app {
namespace {

constexpr const char* kNextPrompt = "The capital of France is";

constexpr const char* kNextFooter = R"(
Shows the candidates for the next token (of a masked model: for the [MASK]); what
each layer would say if the model ended there; and what each token of the text
did for one candidate. With --patch, parts of the pass over the first text are put
into the pass over the other, one at a time: where the answer comes back is where
the model keeps what tells the two apart.

Try:
  attend next "The capital of France is"
  attend next "The capital of France is" --word Paris --attribution gradient
  attend next "The capital of France is" --patch "The capital of Italy is"
  attend next "The capital of France is" -o next.svg)";

struct NextArguments {
  ModelOptions model_options;
  std::optional<std::string> text, word, patch, other_word;
  std::string model{kDefaultWriter}, attribution = "integrated", output;
  std::int64_t steps = 32;
  double temperature = 1;
  std::size_t top = 8;
  bool json = false;
};

void run_next(const NextArguments& given, const Globals& globals) {
  if (given.other_word && !given.patch)
    throw UsageError("--other-word is the answer to the text of --patch, and there is none");
  const std::string format = given.json             ? "json"
                             : given.output.empty() ? "terminal"
                                                    : extension_of(given.output);
  const bool arrays = format == "npz" || format == "safetensors";
  if (format != "json" && format != "terminal" && format != "txt" && !arrays &&
      !kFigureFormats.contains(format)) {
    throw UsageError("-o " + given.output +
                     ": expected a name that ends in .svg, .png, .pdf, .json, .npz, .safetensors or .txt");
  }
  const std::string text = given.text ? input_text(*given.text) : kNextPrompt;
  const TextModel model = open_model(given.model, given.model_options);
  const Reading reading(model, text);
  warn_of_truncation(reading);
  warn_of_unknown(reading);
  warn_of_not_finite(reading);
  std::optional<Reading> other;
  if (given.patch) {
    warn_of_truncation(other.emplace(model, input_text(*given.patch)));
    warn_of_unknown(*other);
  }
  const Reading* const second = other ? &*other : nullptr;
  const explain::NextRequest request{
      .word = given.word,
      .other_word = given.other_word,
      .attribution = given.attribution == "gradient" ? Attribution::gradient : Attribution::integrated,
      .steps = given.steps,
      .temperature = given.temperature,
      .top = given.top};
  const explain::NextAnswer answer = explain::find_next(reading, second, request);
  if (format == "json") {
    write_text(explain::next_json(reading, second, request, answer), given.output);
  } else if (arrays) {
    explain::save_next_arrays(reading, second, answer, given.output, format);
  } else if (kFigureFormats.contains(format)) {
    write_figure(explain::next_figure(reading, second, request, answer), format, given.output);
  } else {
    const draw::Terminal terminal =
        given.output.empty() ? draw::detect_terminal(STDOUT_FILENO, globals.color) : draw::Terminal{};
    write_rendered(explain::next_text(reading, second, request, answer, terminal), given.output);
  }
}

}  // namespace

void add_next_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("next", "Show what a language model expects next, layer by layer, and why");
  const auto given = std::make_shared<NextArguments>();
  command->add_option("text", given->text, "A text, a file, or - for standard input")->type_name("TEXT");
  add_model_option(*command, given->model);
  add_precision_option(*command, given->model_options);
  command->add_option("-w,--word", given->word, "The candidate to explain (default: the most probable)")
      ->type_name("WORD");
  command
      ->add_option("--patch", given->patch, "Another prompt: parts of this one's pass are put into its own")
      ->type_name("TEXT");
  command
      ->add_option("--other-word", given->other_word, "The answer to that one (default: the most probable)")
      ->type_name("WORD");
  command
      ->add_option("--attribution", given->attribution,
                   "What each token did: integrated (gradients) or gradient (times embedding)")
      ->check(CLI::IsMember({"integrated", "gradient"}))
      ->type_name("HOW")
      ->capture_default_str();
  command->add_option("--steps", given->steps, "Steps of integrated gradients; more are more exact")
      ->check(CLI::Range(1, 10000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--temperature", given->temperature, "Temperature of the candidates' probabilities")
      ->check(CLI::PositiveNumber)
      ->type_name("T")
      ->capture_default_str();
  command->add_option("--top", given->top, "Number of candidates")
      ->check(CLI::PositiveNumber)
      ->type_name("K")
      ->capture_default_str();
  command->add_option("-o,--output", given->output, "Write to this file; its extension selects the format")
      ->type_name("FILE");
  command->add_flag("--json", given->json, "Print the numbers as JSON");
  add_color_option(*command, globals);
  command->footer(kNextFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_next(*given, globals); }; });
}

}  // namespace attend::app
