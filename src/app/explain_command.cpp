// attend explain: attention of a real model on a text.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "app/command.h"
#include "app/input_text.h"
#include "app/model_options.h"
#include "app/output.h"
#include "draw/figure_json.h"
#include "draw/page/svg.h"
#include "draw/text_width.h"
#include "draw_cairo/page_format.h"
#include "draw_cairo/save_figure.h"
#include "explain/explanation_arrays.h"
#include "explain/explanation_terminal.h"
#include "save/output_file.h"

namespace attend::app {
namespace {

constexpr const char* kSentence = "The animal didn't cross the street because it was too tired.";
constexpr const char* kFocus = "it";
constexpr int kFigureDigits = 4;  // of a number in a description: as many on every instruction set

constexpr const char* kFooter = R"(
TEXT is a text, the name of a file, or - for standard input. Layers and heads
are counted from 1; without them the mean over all is shown.

  raw      the weights of attention: where a word looks
  norm     the length of weight × value × Wo: what it takes from there
  rollout  how much of each word has arrived after all layers
  flow     the most that could have: for one word, with --focus
  grad     weight × gradient: what brought the text nearer to another, --towards

Try:
  attend explain
  attend explain "The cat sat on the mat." --focus cat --layer 2 --head 3
  attend explain --focus it --to animal --top 5
  attend explain --ablate 4.2 --ablate "it>animal"
  attend explain "The cat sat on the mat." --view lines -o cat.pdf
  attend explain notes.txt --tokens --special --json)";

struct Arguments {
  std::optional<std::string> text, focus, to, towards, format;
  std::vector<std::string> ablate;
  std::string second, model{kDefaultModel}, method = "raw", view = "map", output;
  std::optional<std::int64_t> layer, head;
  std::size_t top = 8;
  bool tokens = false, special = false, heads = false, json = false;
};

const std::set<std::string> kFormats = {"terminal", "json", "figure", "svg",
                                        "png",      "pdf",  "npz",    "safetensors"};

// As --format says, else as the file is called.
std::string format_of(const Arguments& given) {
  if (given.json) return "json";
  if (given.format) return *given.format;
  if (given.output.empty()) return "terminal";
  std::string extension = std::filesystem::path(given.output).extension().string();
  if (!extension.empty()) extension.erase(0, 1);
  if (extension == "txt") return "terminal";
  if (!kFormats.contains(extension)) {
    throw UsageError(
        "-o " + draw::printable(given.output) +
        ": expected a name that ends in .svg, .png, .pdf, .json, .npz, .safetensors or .txt, or --format");
  }
  return extension;
}

void check(const Arguments& given, const std::string& format) {
  const bool own = given.text.has_value();
  if (given.method == "flow" && !given.focus && own)
    throw UsageError("--method flow is for one word: --focus says which");
  if (given.method == "flow" && given.view != "map")
    throw UsageError("--method flow is for one word, and has no --view");
  if (given.to && !given.focus && own)
    throw UsageError("--to needs --focus: which word should the heads link to it?");
  if (given.head && !given.layer)
    throw UsageError("--head needs --layer: which layer's head " + std::to_string(*given.head) + "?");
  if (given.method == "rollout" && given.view == "model")
    throw UsageError("--method rollout mixes the heads, and --view model shows each by itself");
  if (given.method == "grad" && !given.towards)
    throw UsageError("--method grad asks what brought the text nearer to another: --towards says to which");
  if (given.towards && given.method != "grad") throw UsageError("--towards is for --method grad");
  const std::set<std::string> printed = {"terminal", "json", "figure", "svg"};
  if (given.output.empty() && !printed.contains(format))
    throw UsageError("--format " + format + " needs -o FILE");
}

// A map of many words takes time and memory: what that will be is said before.
void announce(const Reading& reading, const Arguments& given) {
  constexpr double kLarge = 256e6;
  const auto units =
      static_cast<double>(given.tokens ? reading.size() : static_cast<std::int64_t>(reading.words().size()));
  const double bytes = units * units * 8;
  if (bytes < kLarge) return;
  std::cerr << reading.size() << " tokens, " << reading.layers() << " layers × " << reading.heads()
            << " heads: the map takes " << static_cast<std::int64_t>(bytes / 1e6) << " MB.\n";
}

void write(const std::string& text, const std::string& file) {
  if (file.empty()) {
    write_output(text);
    return;
  }
  save::OutputFile out(file);
  out.write(text);
  out.commit();
}

void run_explain(const Arguments& given, const Globals& globals) {
  const std::string format = format_of(given);
  check(given, format);
  const std::string text = given.text ? input_text(*given.text) : kSentence;
  const TextModel model = TextModel::load(given.model);
  require_layer(model, given.layer, given.head);

  explain::ExplainRequest request{
      .query = {.method = *lens_method_named(given.method), .heads = {.layer = given.layer}},
      .tokens = given.tokens,
      .special = given.special,
      .focus = given.focus,
      .to = given.to,
      .heads = given.heads,
      .ablate = given.ablate,
      .top = given.top};
  if (given.head) request.query.heads.head = *given.head - 1;
  if (!given.text && !given.focus) request.focus = kFocus;
  const Reading reading(model, text, given.second);
  tell_what_was_cut(reading);
  announce(reading, given);
  EncoderGradients gradients;
  if (given.towards) {
    gradients = gradients_towards(reading, text_vector(Reading(model, input_text(*given.towards))));
    request.query.gradients = &gradients;
  }
  const explain::Explanation explanation = explain::explain(reading, request);
  const explain::View view = *explain::view_named(given.view);

  if (format == "json") {
    write(explain::explanation_json(reading, request, explanation), given.output);
  } else if (format == "terminal") {
    const draw::Terminal terminal =
        given.output.empty() ? draw::detect_terminal(STDOUT_FILENO, globals.color) : draw::Terminal{};
    write(explain::explanation_text(reading, request, explanation, view, terminal), given.output);
  } else if (format == "npz" || format == "safetensors") {
    explain::save_arrays(reading, explanation, given.output);
  } else {
    const draw::Figure figure = explain::explanation_figure(reading, request, explanation, view);
    if (format == "figure") {
      write(draw::figure_json(figure, kFigureDigits), given.output);
      return;
    }
    const draw::PageFormat page = *draw::page_format_of("figure." + format);
    if (given.output.empty()) {
      write_output(draw::figure_svg(figure));
      return;
    }
    for (const std::string& note : draw::save_figure(figure, given.output, page)) std::cerr << note << "\n";
  }
}

}  // namespace

void add_explain_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  CLI::App* const command =
      program.add_subcommand("explain", "Attention of a real model on a text: who looks at whom");
  const auto given = std::make_shared<Arguments>();
  command->add_option("text", given->text, "A text, a file, or - for standard input")->type_name("TEXT");
  add_model_option(*command, given->model);
  command->add_option("--second", given->second, "The second text of a pair")->type_name("TEXT");
  command->add_option("-f,--focus", given->focus, "Look at this word closely; the#2 is the second \"the\"")
      ->type_name("WORD");
  command->add_option("--layer", given->layer, "One layer, from 1")->type_name("N");
  command->add_option("--head", given->head, "One head of it, from 1")->type_name("N");
  command->add_option("--to", given->to, "Which heads link the focus to this word?")->type_name("WORD");
  command->add_flag("--heads", given->heads, "What each head does: previous token, separator, ...");
  command->add_option("--towards", given->towards, "For grad: the text that this one is compared with")
      ->type_name("TEXT");
  command
      ->add_option(
          "--ablate", given->ablate,
          "What becomes of the output without: 4.2 (layer.head), it>animal, 4.2:it>animal; =0.5 scales")
      ->type_name("WHAT")
      ->allow_extra_args(false);
  command->add_option("--top", given->top, "Lines of each list")
      ->type_name("K")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--method", given->method, "What is shown: raw, norm, rollout, flow or grad")
      ->check(CLI::IsMember({"raw", "norm", "rollout", "flow", "grad"}))
      ->type_name("HOW")
      ->capture_default_str();
  command->add_flag("--tokens", given->tokens, "Tokens, not words");
  command->add_flag("--special", given->special, "Show special tokens, such as [CLS], too");
  command
      ->add_option("--view", given->view,
                   "What is drawn large: map, lines, model (all heads) or film (all layers)")
      ->check(CLI::IsMember({"map", "lines", "model", "film"}))
      ->type_name("HOW")
      ->capture_default_str();
  command->add_option("-o,--output", given->output, "Into a file; its name chooses the format")
      ->type_name("FILE");
  command
      ->add_option("--format", given->format,
                   "terminal, svg, png, pdf, json, npz, safetensors, or figure: its description as JSON")
      ->check(CLI::IsMember(kFormats))
      ->type_name("FORMAT");
  command->add_flag("--json", given->json, "Short for --format json");
  add_color_option(*command, globals);
  command->footer(kFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_explain(*given, globals); }; });
}

}  // namespace attend::app
