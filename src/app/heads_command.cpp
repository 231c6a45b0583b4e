// attend heads: what each head does, over many texts.
#include <unistd.h>

#include <memory>
#include <optional>
#include <set>

#include "app/command.h"
#include "app/figure_output.h"
#include "app/get_model.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/status_line.h"
#include "base/error.h"
#include "draw/figure_terminal.h"
#include "draw/prose.h"
#include "survey/survey_report.h"

namespace attend::app {
namespace {

constexpr const char* kHeadsFooter = R"(
Without --link: where the weight of every head goes, the mean over the texts and
its standard deviation, and the habit that it shows most often.
With --link FROM>TO: which heads link such words, as a percentage of FROM's weight,
next to what other words give to TO. With --layer and --head, the texts in which
that head links them most strongly.

FROM and TO are words, it,he,she, or kinds of words: pronoun, article,
preposition, conjunction (the English ones), name, number, punctuation, word,
special; =number is the word "number".

Try:
  attend heads texts.txt
  attend heads texts.txt --link "pronoun>name"
  attend heads texts.txt --link "it>word" --layer 4 --head 2
  attend heads texts.txt -o heads.svg
  attend heads texts.txt --link "article>word" --json)";

struct HeadsArguments {
  ModelOptions model_options;
  std::string file, model{kDefaultModel}, output;
  std::vector<std::string> links;
  std::optional<std::int64_t> layer, head, max_texts;
  std::size_t top = 8;
  bool jsonl = false, json = false;
};

// "json", "terminal", or the format of a figure.
std::string format_of(const HeadsArguments& given) {
  if (given.output.empty()) return given.json ? "json" : "terminal";
  const std::string extension = extension_of(given.output);
  if (extension == "txt" && !given.json) return "terminal";
  if (extension == "json" || given.json) return "json";
  if (extension == "svg" || extension == "png" || extension == "pdf") return extension;
  throw UsageError("-o " + given.output + ": expected a name that ends in .svg, .png, .pdf, .json or .txt");
}

survey::SurveyRequest request_of(const HeadsArguments& given) {
  if (given.layer.has_value() != given.head.has_value())
    throw UsageError("--layer and --head name one head together: give both, or neither");
  if (given.head && given.links.empty())
    throw UsageError("--layer and --head choose whose links are shown, so they need --link FROM>TO");
  survey::SurveyRequest request{.links = {},
                                .head = {.layer = given.layer, .head = given.head},
                                .top = given.top,
                                .max_texts = given.max_texts};
  for (const std::string& link : given.links) request.links.push_back(survey::link_from(link));
  return request;
}

std::string report_text(const survey::SurveyReport& report, const survey::SurveyRequest& request,
                        const draw::Terminal& terminal) {
  std::string text;
  for (const draw::Part& part : survey::survey_lists(report, request))
    text += draw::render_figure({.title = {}, .parts = {part}, .notes = {}}, terminal) + "\n";
  for (const std::string& note : survey::survey_notes(report)) text += draw::paragraph(note, terminal);
  return text;
}

void run_heads(const HeadsArguments& given, const Globals& globals) {
  const std::string format = format_of(given);
  const survey::SurveyRequest request = request_of(given);
  embed::TextLines lines(given.file, given.jsonl ? embed::LineForm::json : embed::LineForm::plain);
  const TextModel model = open_model(given.model, given.model_options);
  require_layer(model, given.layer, given.head);
  StatusLine status;
  const survey::SurveyReport report = survey::survey_texts(model, lines, request, [&](std::int64_t texts) {
    if (status.due()) status.show(draw::counted(texts, "text"));
  });
  status.clear();
  if (report.texts == 0) throw FileError(given.file, "", "holds no text");
  if (format == "json") {
    write_text(survey::survey_json(report, request), given.output);
  } else if (format == "terminal") {
    const draw::Terminal terminal =
        given.output.empty() ? draw::detect_terminal(STDOUT_FILENO, globals.color) : draw::Terminal{};
    write_rendered(report_text(report, request, terminal), given.output);
  } else {
    write_figure(survey::survey_figure(report, request), format, given.output);
  }
}

}  // namespace

void add_heads_command(CLI::App& program, Globals& globals, std::function<void()>& run) {
  CLI::App* const command = program.add_subcommand("heads", "What each head does, over many texts");
  const auto given = std::make_shared<HeadsArguments>();
  command->add_option("file", given->file, "Texts, one per line; - reads standard input")
      ->required()
      ->type_name("FILE");
  add_model_option(*command, given->model);
  add_precision_option(*command, given->model_options);
  command->add_option("--link", given->links, "Which heads link such words, such as pronoun>name")
      ->type_name("FROM>TO")
      ->allow_extra_args(false);
  command->add_option("--layer", given->layer, "With --head: where this one links them")->type_name("N");
  command->add_option("--head", given->head, "A head of that layer, from 1")->type_name("N");
  command->add_option("--top", given->top, "Number of lines in each list of --link")
      ->type_name("K")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--max-texts", given->max_texts, "Stop after this many texts")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_flag("--jsonl", given->jsonl, "Each line is {\"text\": ...} or a JSON string");
  command->add_option("-o,--output", given->output, "Write to this file: .svg, .png, .pdf, .json or .txt")
      ->type_name("FILE");
  command->add_flag("--json", given->json, "Print the numbers as JSON");
  add_color_option(*command, globals);
  command->footer(kHeadsFooter);
  command->callback([given, &globals, &run] { run = [given, &globals] { run_heads(*given, globals); }; });
}

}  // namespace attend::app
