#include "app/score_options.h"

#include <filesystem>

#include "app/command.h"
#include "app/get_model.h"
#include "app/model_options.h"
#include "app/output.h"
#include "base/error.h"
#include "doctor/finite_weights.h"

namespace attend::app {

void add_score_options(CLI::App& command, ScoreArguments& given) {
  command.add_option("file", given.file, "Texts, one per line; - reads standard input")
      ->required()
      ->type_name("FILE");
  command.add_option("-m,--model", given.model, "A folder, or a name on the hub")
      ->required()
      ->take_last()
      ->type_name("MODEL");
  add_precision_option(command, given.model_options);
  command.add_option("-o,--output", given.output, "Write to this file; its extension selects the format")
      ->type_name("FILE");
  command.add_flag("--jsonl", given.jsonl, "Each line is {\"text\": ...} or a JSON string");
  command.add_flag("--raw", given.raw, "The model's own numbers, before any function");
  command
      .add_option("--max-tokens", given.max_tokens,
                  "At most this many tokens per text or pair, including special ones")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--batch-tokens", given.batch_tokens,
                  "How many tokens are processed at once; does not change the scores")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void require_extension(const std::string& output, std::initializer_list<const char*> extensions) {
  if (output.empty()) return;
  const std::string own = std::filesystem::path(output).extension().string();
  std::string known;
  for (const char* const extension : extensions) {
    if (own == extension) return;
    known.append(known.empty() ? "" : ", ").append(extension);
  }
  throw UsageError("-o " + output + ": expected a name that ends in one of " + known);
}

TextModel open_scorer(const ScoreArguments& given) {
  TextModel model = open_model(given.model, given.model_options);
  if (!model.sequence_head()) {
    throw FileError(model.files().name, "",
                    "cannot score texts: its config.json names no class ForSequenceClassification");
  }
  require_max_tokens(model, given.max_tokens);
  return model;
}

score::ScoreOutcome score_file(const TextModel& model, const ScoreArguments& given,
                               const score::ScoreJob& job, const std::string& command,
                               const std::function<void(score::ScoredText)>& take) {
  embed::TextLines lines(given.file, given.jsonl ? embed::LineForm::json : embed::LineForm::plain);
  const score::ScoreOutcome outcome = score::score_lines(model, lines, job, take);
  if (outcome.cut > 0) {
    say(joined("attend ", command, ": ", outcome.cut, " of ", outcome.texts, " texts had more than ",
               given.max_tokens.value_or(model.max_tokens()), " tokens and were cut, the first in line ",
               outcome.first_cut));
  }
  if (outcome.not_finite > 0) {
    say(joined("attend ", command, ": the scores of ", outcome.not_finite, " of ", outcome.texts,
               " texts are not finite; why: ", doctor::cause_of_not_finite(model.files())));
  }
  return outcome;
}

}  // namespace attend::app
