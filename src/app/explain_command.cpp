// attend explain: attention of a real model on a text.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>

#include "app/command.h"
#include "app/input_text.h"
#include "app/model_options.h"
#include "app/output.h"
#include "explain/explanation.h"

namespace attend::app {
namespace {

constexpr const char* kSentence = "The animal didn't cross the street because it was too tired.";
constexpr const char* kFocus = "it";

constexpr const char* kFooter = R"(
TEXT is a text, the name of a file, or - for standard input. Layers and heads
are counted from 1; without them the mean over all is shown.

  raw      the weights of attention: where a word looks
  norm     the length of weight × value × Wo: what it takes from there
  rollout  how much of each word has arrived after all layers
  flow     the most that could have: for one word, with --focus

Try:
  attend explain
  attend explain "The cat sat on the mat." --focus cat --layer 2 --head 3
  attend explain --focus it --to animal --top 5
  attend explain notes.txt --tokens --special --json)";

struct Arguments {
  std::optional<std::string> text;
  std::string second, model{kDefaultModel}, method = "raw";
  std::optional<std::int64_t> layer, head;
  std::optional<std::string> focus;
  std::optional<std::string> to;
  std::size_t top = 8;
  bool tokens = false, special = false, heads = false, json = false;
};

void run_explain(const Arguments& given, const Globals& globals) {
  if (given.method == "flow" && !given.focus && given.text)
    throw UsageError("--method flow is for one word: --focus says which");
  if (given.to && !given.focus && given.text)
    throw UsageError("--to needs --focus: which word should the heads link to it?");
  if (given.head && !given.layer)
    throw UsageError("--head needs --layer: which layer's head " + std::to_string(*given.head) + "?");
  const std::string text = given.text ? input_text(*given.text) : kSentence;
  const TextModel model = load_model(given.model);
  require_layer(model, given.layer, given.head);

  explain::ExplainRequest request{
      .query = {.method = *lens_method_named(given.method), .heads = {.layer = given.layer}},
      .tokens = given.tokens,
      .special = given.special,
      .focus = given.focus,
      .to = given.to,
      .heads = given.heads,
      .top = given.top};
  if (given.head) request.query.heads.head = *given.head - 1;
  if (!given.text && !given.focus) request.focus = kFocus;
  const Reading reading(model, text, given.second);
  tell_what_was_cut(reading);
  const explain::Explanation explanation = explain::explain(reading, request);
  write_output(given.json ? explanation_json(reading, request, explanation)
                          : explanation_text(reading, request, explanation,
                                             draw::detect_terminal(STDOUT_FILENO, globals.color)));
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
  command->add_option("--top", given->top, "Lines of each list")
      ->type_name("K")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--method", given->method, "What is shown: raw, norm, rollout or flow")
      ->check(CLI::IsMember({"raw", "norm", "rollout", "flow"}))
      ->type_name("HOW")
      ->capture_default_str();
  command->add_flag("--tokens", given->tokens, "Tokens, not words");
  command->add_flag("--special", given->special, "Show special tokens, such as [CLS], too");
  command->add_flag("--json", given->json, "Print words, weights and the focus as JSON");
  add_color_option(*command, globals);
  command->footer(kFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_explain(*given, globals); }; });
}

}  // namespace attend::app
