#include "score/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace attend::score {
namespace {

using Json = nlohmann::ordered_json;

std::string score_text(float score) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", static_cast<double>(score));
  return text;
}

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string passage_text(const ScoredText& passage) {
  return joined(score_text(passage.scores.front()), "\t", passage.index + 1, "\t", passage.text, "\n");
}

std::string passages_json(std::string_view query, const std::vector<ScoredText>& passages) {
  Json results = Json::array();
  for (const ScoredText& passage : passages)
    results.push_back({{"index", passage.index}, {"score", passage.scores.front()}, {"text", passage.text}});
  return dumped({{"query", query}, {"results", results}}, 2);
}

std::vector<LabelScore> best_labels(const std::vector<std::string>& labels, const std::vector<float>& scores,
                                    std::size_t most) {
  std::vector<LabelScore> all;
  for (std::size_t i = 0; i < labels.size(); ++i) all.push_back({labels[i], scores[i]});
  std::stable_sort(all.begin(), all.end(), [](const LabelScore& a, const LabelScore& b) {
    return std::isnan(a.score) || std::isnan(b.score) ? !std::isnan(a.score) && std::isnan(b.score)
                                                      : a.score > b.score;
  });
  all.resize(std::min(all.size(), most));
  return all;
}

std::string classes_text(const ScoredText& text, const std::vector<LabelScore>& best) {
  std::string line;
  for (const LabelScore& one : best)
    line += joined(line.empty() ? "" : ", ", one.label, " ", score_text(one.score));
  return line + "\t" + text.text + "\n";
}

std::string classes_json(const ScoredText& text, const std::vector<LabelScore>& best) {
  Json labels = Json::array();
  for (const LabelScore& one : best) labels.push_back({{"label", one.label}, {"score", one.score}});
  return dumped({{"index", text.index}, {"text", text.text}, {"labels", labels}}, -1);
}

}  // namespace attend::score
