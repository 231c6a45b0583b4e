// Shared by the commands that score texts: rerank and classify.
#pragma once

#include <attend/text_model.h>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "score/score_lines.h"

namespace attend::app {

struct ScoreArguments {
  ModelOptions model_options;
  std::string file, model, output;
  std::optional<std::int64_t> max_tokens;
  std::int64_t batch_tokens = PredictOptions{}.batch_tokens;
  bool jsonl = false, raw = false, json = false;
};

// FILE, -m (which has no default), --precision, -o, --jsonl, --raw, --max-tokens, --batch-tokens.
void add_score_options(CLI::App& command, ScoreArguments& given);

// Throws UsageError for an output of an extension that is not one of these.
void require_extension(const std::string& output, std::initializer_list<const char*> extensions);

// The model that -m names, after what the command line says of it was checked.
TextModel open_scorer(const ScoreArguments& given);

// Scores the lines of the file. Says on standard error what was cut and what is not finite.
score::ScoreOutcome score_file(const TextModel& model, const ScoreArguments& given,
                               const score::ScoreJob& job, const std::string& command,
                               const std::function<void(score::ScoredText)>& take);

}  // namespace attend::app
