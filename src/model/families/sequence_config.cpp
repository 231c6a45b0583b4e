#include "model/families/sequence_config.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/config_keys.h"

namespace attend::model {
namespace {

constexpr std::int64_t kMostLabels = 1 << 16;  // far more than any classifier has

std::vector<std::string> read_labels(const io::JsonFields& config) {
  std::vector<std::string> labels;
  const io::JsonFields* const named = config.object("id2label");
  const auto named_count = static_cast<std::int64_t>(named == nullptr ? 2 : named->count());
  if (named != nullptr && (named_count == 0 || named_count > kMostLabels))
    config.refuse("id2label", "names ", named_count, " labels, expected 1 to ", kMostLabels);
  const std::int64_t count = config.integer({"num_labels"}, 1, kMostLabels, named_count);
  if (named != nullptr && count != named_count)
    config.refuse("id2label", "names ", named_count, " labels, but num_labels is ", count);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string key = std::to_string(i);
    labels.push_back(named == nullptr ? "LABEL_" + key : std::string(named->string(key)));
  }
  return labels;
}

// As the text-classification pipeline of transformers chooses it.
ScoreFunction read_classifier_function(const io::JsonFields& config, std::size_t labels) {
  constexpr std::string_view kKey = "problem_type";
  const std::string_view problem = config.string(kKey, "");
  if (problem == "regression") return ScoreFunction::identity;
  if (problem == "multi_label_classification" || (problem.empty() && labels == 1))
    return ScoreFunction::sigmoid;
  if (!problem.empty() && problem != "single_label_classification") {
    config.refuse(kKey, "\"", io::shown(problem),
                  "\" is not one of regression, single_label_classification, multi_label_classification");
  }
  if (labels == 1) config.refuse(kKey, "a single label cannot be chosen among");
  return ScoreFunction::softmax;
}

// Under the key of today, else that of before version 4.
std::string read_activation_path(const io::JsonFields& config) {
  const io::JsonFields* const own = config.object("sentence_transformers");
  if (own != nullptr && own->has("activation_fn")) return std::string(own->string("activation_fn"));
  return std::string(config.string("sbert_ce_default_activation_function", ""));
}

}  // namespace

std::optional<SequenceHeadDescription> read_sequence_head(const io::JsonFields& config, Pooling pooling) {
  const std::vector<std::string_view> names = read_architectures(config);
  if (std::none_of(names.begin(), names.end(),
                   [](std::string_view name) { return name.ends_with("ForSequenceClassification"); }))
    return std::nullopt;
  SequenceHeadDescription head{.labels = read_labels(config), .pooling = pooling};
  head.classifier_function = read_classifier_function(config, head.labels.size());
  head.activation = read_activation_path(config);
  return head;
}

std::optional<SequenceHeadDescription> read_last_token_head(const io::JsonFields& config) {
  std::optional<SequenceHeadDescription> head = read_sequence_head(config, Pooling::last_token);
  if (head && config.has("pad_token_id"))
    head->padding = config.integer({"pad_token_id"}, -io::kLargestSize, io::kLargestSize);
  return head;
}

void score_last_token(const ModelDescription& description, TensorNames& names) {
  names.output.none = description.sequence_head.has_value();
  names.sequence = {.score = "score", .score_bias = false};
}

}  // namespace attend::model
