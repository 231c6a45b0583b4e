// Scores as lines of text and as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "score/score_lines.h"

namespace attend::score {

// "0.9873  3  the passage" and its line end: score, line number, text, with tabs between.
std::string passage_text(const ScoredText& passage);
std::string passages_json(std::string_view query, const std::vector<ScoredText>& passages);

struct LabelScore {
  std::string_view label;
  float score = 0;
};
// The best first, at most this many.
std::vector<LabelScore> best_labels(const std::vector<std::string>& labels, const std::vector<float>& scores,
                                    std::size_t most);

// "positive 0.9873  the text", with a tab in front of the text; one line.
std::string classes_text(const ScoredText& text, const std::vector<LabelScore>& best);
// {"index": 0, "text": "...", "labels": [{"label": "positive", "score": 0.9873}]}, one line.
std::string classes_json(const ScoredText& text, const std::vector<LabelScore>& best);

}  // namespace attend::score
