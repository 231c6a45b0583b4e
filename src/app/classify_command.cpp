// attend classify: the labels of texts from a file or a pipe, by a classifier.
#include <limits>
#include <memory>
#include <optional>

#include "app/command.h"
#include "app/output.h"
#include "app/score_options.h"
#include "save/output_file.h"
#include "score/report.h"

namespace attend::app {
namespace {

constexpr const char* kClassifyFooter = R"(
The model is a classifier: a folder whose config.json names a class that ends in
ForSequenceClassification. A line of the output is a text's best label with its
score, a tab, and the text. Scores are what transformers' pipeline makes of the
model's numbers, by its problem_type and number of labels: a softmax, a sigmoid
for each label, or nothing; --raw leaves it out.

  .tsv, .txt    such lines
  .jsonl        {"index": 0, "text": "...", "labels": [{"label": "...", "score": 0.9}]},
                with all labels unless --top is given, as with --json

Try:
  attend classify reviews.txt -m ./sentiment
  echo "I liked it." | attend classify - -m ./sentiment --top 3
  attend classify pairs.tsv --pairs -m ./entailment --json)";

struct ClassifyArguments : ScoreArguments {
  std::optional<std::size_t> top;
  bool pairs = false;
};

void run_classify(const ClassifyArguments& given) {
  require_extension(given.output, {".tsv", ".txt", ".jsonl"});
  const TextModel model = open_scorer(given);
  const SequenceHead head = *model.sequence_head();
  const bool as_json = given.json || given.output.ends_with(".jsonl");
  const std::size_t most = given.top.value_or(as_json ? std::numeric_limits<std::size_t>::max() : 1);
  const score::ScoreJob job{
      .pairs = given.pairs,
      .options = {.function = given.raw ? ScoreFunction::identity : head.classifier_function(),
                  .max_tokens = given.max_tokens,
                  .batch_tokens = given.batch_tokens}};
  std::optional<save::OutputFile> file;
  if (!given.output.empty()) file.emplace(given.output);
  score_file(model, given, job, "classify", [&](const score::ScoredText& text) {
    const std::vector<score::LabelScore> best = score::best_labels(head.labels(), text.scores, most);
    const std::string line = as_json ? score::classes_json(text, best) : score::classes_text(text, best);
    file ? file->write(line) : write_output(line);
  });
  if (file) file->commit();
}

}  // namespace

void add_classify_command(CLI::App& program, Globals&, std::function<void()>& run) {
  CLI::App* const command = program.add_subcommand("classify", "Label texts from a file or a pipe");
  const auto given = std::make_shared<ClassifyArguments>();
  add_score_options(*command, *given);
  command->add_option("--top", given->top, "Number of labels for each text, best first (default: 1)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_flag("--pairs", given->pairs, "Each line is two texts, separated by a tab");
  command->add_flag("--json", given->json, "Print lines of JSON");
  command->footer(kClassifyFooter);
  command->callback([&run, given] { run = [given] { run_classify(*given); }; });
}

}  // namespace attend::app
