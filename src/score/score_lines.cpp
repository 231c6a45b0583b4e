#include "score/score_lines.h"

#include <attend/file_error.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace attend::score {
namespace {

class ScoreRun {
 public:
  ScoreRun(const TextModel& model, const ScoreJob& job, const std::function<void(ScoredText)>& take)
      : model_(model),
        job_(job),
        prompt_(model.prompt_of(EmbedOptions{.prompt = job.options.prompt})),
        query_(prompt_ + job.query.value_or("")),
        take_(take) {}

  void add(const embed::TextLines& lines, std::string text) {
    Encoding tokens = encoded(lines, text);
    if (tokens.dropped > 0 && outcome.cut++ == 0) outcome.first_cut = lines.line();
    waiting_ += static_cast<std::int64_t>(tokens.size());
    tokens_.push_back(std::move(tokens));
    texts_.push_back(std::move(text));
    if (waiting_ >= job_.options.batch_tokens) flush();
  }

  void flush() {
    const Tensor scores = model_.predict(tokens_, job_.options);
    const std::span<const float> values = scores.values<float>();
    const auto labels = static_cast<std::size_t>(scores.size(1));
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::span<const float> row = values.subspan(i * labels, labels);
      if (!std::ranges::all_of(row, [](float score) { return std::isfinite(score); })) ++outcome.not_finite;
      take_({.index = outcome.texts++, .text = std::move(texts_[i]), .scores = {row.begin(), row.end()}});
    }
    tokens_.clear();
    texts_.clear();
    waiting_ = 0;
  }

  ScoreOutcome outcome;

 private:
  Encoding encoded(const embed::TextLines& lines, const std::string& text) const {
    const std::optional<std::int64_t> most = job_.options.max_tokens;
    const auto fail = [&](const std::string& rule) {
      throw FileError(lines.name(), joined("line ", lines.line()), rule);
    };
    const std::size_t tab = job_.pairs ? text.find('\t') : std::string::npos;
    if (job_.pairs && tab == std::string::npos) fail("is not a pair: it has no tab between two texts");
    try {
      if (job_.query) return model_.encode(query_, text, most);
      if (!job_.pairs) return model_.encode(prompt_ + text, most);
      return model_.encode(prompt_ + text.substr(0, tab), std::string_view(text).substr(tab + 1), most);
    } catch (const std::invalid_argument& error) {  // the tokenizer refuses the text
      fail(plain_sentence(error));
    }
    return {};
  }

  const TextModel& model_;
  const ScoreJob& job_;
  const std::string prompt_, query_;
  const std::function<void(ScoredText)>& take_;
  std::vector<std::string> texts_;
  std::vector<Encoding> tokens_;
  std::int64_t waiting_ = 0;  // tokens
};

}  // namespace

ScoreOutcome score_lines(const TextModel& model, embed::TextLines& lines, const ScoreJob& job,
                         const std::function<void(ScoredText)>& take) {
  ScoreRun run(model, job, take);
  for (std::string text; lines.next(text);) run.add(lines, std::move(text));
  run.flush();
  return run.outcome;
}

}  // namespace attend::score
