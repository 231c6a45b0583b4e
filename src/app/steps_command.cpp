// attend steps: attention on small vectors, step by step, with all the numbers.
#include <unistd.h>

#include <memory>
#include <optional>

#include "app/command.h"
#include "app/figure_output.h"
#include "app/output.h"
#include "draw/prose.h"
#include "draw/text_width.h"
#include "draw_cairo/page_format.h"
#include "steps/examples.h"
#include "steps/focus.h"
#include "steps/narrate.h"
#include "steps/order.h"
#include "steps/saturation.h"
#include "steps/steps_file.h"
#include "steps/to_json.h"
#include "steps/weights_figure.h"

namespace attend::app {
namespace {

struct StepsOptions {
  std::optional<std::string> file, example, focus, output;
  bool json = false;
};

std::string example_list() {
  std::string text = "Built-in examples:\n";
  for (const steps::BuiltInExample& example : steps::examples()) {
    text.append("  ").append(draw::pad_right(example.name, 12)).append(example.summary).append("\n");
  }
  return text;
}

constexpr const char* kStepsFooter = R"(
Try:
  attend steps                             the first example
  attend steps --example it --focus it     one row written out: every product, every quotient
  attend steps --example heads --json      the numbers, for a program
  attend steps vectors.json                your own vectors; - reads standard input
  attend steps vectors.json -o map.svg     their map as a figure: .svg, .png or .pdf

A file contains {"tokens": [...], "x": [[...], ...]}, or "q", "k" and "v" instead
of "x", and optionally "wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo", "heads",
"causal", "scale", "context", "key_tokens", "positions".)";

// By the extension of the file: a figure, or the numbers.
std::string format_of(const std::string& file) {
  const std::string extension = extension_of(file);
  if (extension != "json" && !draw::page_format_of(file)) {
    throw UsageError("-o " + file + ": expected a name that ends in .svg, .png, .pdf or .json");
  }
  return extension;
}

const steps::BuiltInExample& chosen_example(const StepsOptions& options) {
  if (!options.example) return steps::examples().front();
  if (const steps::BuiltInExample* example = steps::find_example(*options.example)) return *example;
  std::string names;
  for (const steps::BuiltInExample& example : steps::examples()) {
    if (!names.empty()) names += ", ";
    names += example.name;
  }
  throw UsageError("there is no example \"" + *options.example + "\"; available: " + names);
}

void run_steps(const StepsOptions& options, const Globals& globals) {
  if (options.file && options.example) {
    throw UsageError("give either a file or --example, not both");
  }
  const std::string format = options.output ? format_of(*options.output) : options.json ? "json" : "";
  const bool own = options.file.has_value();
  const steps::BuiltInExample* const example = own ? nullptr : &chosen_example(options);
  const steps::Lesson lesson = own ? steps::read_lesson(*options.file) : example->lesson();
  const std::string name = own ? steps::display_name(*options.file) : std::string(example->name);
  const steps::Walk walk = steps::walk(name, lesson);

  steps::JsonExtras extras;
  if (options.focus) extras.focus = steps::find_token(name, lesson, *options.focus);
  if (!own && example->name == "positions") extras.order = steps::measure_order(lesson);
  if (!own && example->name == "scale") extras.saturation = steps::measure_saturation();
  if (format == "json") {
    write_text(steps::to_json(lesson, walk, extras), options.output.value_or(""));
    return;
  }
  if (options.output) {
    draw::Figure figure = steps::lesson_figure(lesson, walk, extras.focus);
    if (extras.order) {
      for (draw::Table& table : steps::order_tables(*extras.order))
        figure.parts.emplace_back(std::move(table));
    }
    if (extras.saturation) figure.parts.emplace_back(steps::saturation_plot(*extras.saturation));
    write_figure(figure, format, *options.output);
    return;
  }

  const draw::Terminal terminal = draw::detect_terminal(STDOUT_FILENO, globals.color);
  std::string text;
  if (!lesson.title.empty()) text += draw::heading(lesson.title, terminal);
  if (!lesson.note.empty()) text += draw::paragraph(lesson.note, terminal);
  if (!text.empty()) text += "\n";
  text += steps::narrate_steps(lesson, walk, terminal);
  if (extras.focus) text += steps::narrate_focus(lesson, walk, *extras.focus, terminal);
  if (extras.order) text += steps::narrate_order(*extras.order, terminal);
  if (extras.saturation) text += steps::narrate_saturation(*extras.saturation, terminal);
  text += steps::narrate_shapes(walk, terminal);
  if (!own) text += "\n" + draw::paragraph(example->moral, terminal);
  write_styled(text);
}

}  // namespace

void add_steps_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  const auto options = std::make_shared<StepsOptions>();
  CLI::App* const command =
      program.add_subcommand("steps", "Attention on small vectors, step by step, with all the numbers");
  command->add_option("FILE", options->file, "Your own vectors as JSON; - reads standard input")
      ->type_name("");
  command->add_option("-e,--example", options->example, "A built-in example (default: love)")
      ->take_last()
      ->type_name("NAME");
  command
      ->add_option("-f,--focus", options->focus,
                   "Write out the row of this token; the#2 is the second \"the\"")
      ->take_last()
      ->type_name("TOKEN");
  command->add_flag("--json", options->json, "Print tokens, scores, weights and output as JSON")
      ->disable_flag_override();
  command
      ->add_option("-o,--output", options->output,
                   "Write the map as a figure (.svg, .png or .pdf), or the numbers (.json)")
      ->take_last()
      ->type_name("FILE");
  add_color_option(*command, globals);
  command->footer(example_list() + kStepsFooter);
  command->callback(
      [options, &globals, &run] { run = [options, &globals] { run_steps(*options, globals); }; });
}

}  // namespace attend::app
