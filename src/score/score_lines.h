// Scores a file of texts, one a line, in constant memory.
#pragma once

#include <attend/text_model.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "embed/text_lines.h"

namespace attend::score {

struct ScoredText {
  std::int64_t index = 0;  // from 0
  std::string text{};
  std::vector<float> scores{};  // one for each label of the model
};

struct ScoreJob {
  std::optional<std::string> query{};  // each line is the second text of a pair with it
  bool pairs = false;                  // each line is a pair with a tab between
  PredictOptions options{};
};

struct ScoreOutcome {
  std::int64_t texts = 0;
  std::int64_t cut = 0;        // that had more tokens than the model reads
  std::int64_t first_cut = 0;  // the line of the first of them
  std::int64_t not_finite = 0;
};

// Calls take() for each text in order. Throws FileError for a line that is not a pair where one is expected,
// and for a text that the tokenizer refuses.
ScoreOutcome score_lines(const TextModel& model, embed::TextLines& lines, const ScoreJob& job,
                         const std::function<void(ScoredText)>& take);

}  // namespace attend::score
