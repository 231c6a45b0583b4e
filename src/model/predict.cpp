// The scores of texts and pairs, and passages in their order.
#include <attend/text_model.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "model/text_batches.h"

namespace attend {
namespace {

constexpr const char* kPredict = "predict";

SequenceHead required_head(const TextModel& model, const char* operation) {
  std::optional<SequenceHead> head = model.sequence_head();
  if (head) return *std::move(head);
  refuse(operation,
         "the model does not score texts: its config.json names no class ForSequenceClassification");
}

// Best first, NaN last.
bool is_better(const RankedPassage& a, const RankedPassage& b) {
  if (std::isnan(a.score) || std::isnan(b.score)) return !std::isnan(a.score) && std::isnan(b.score);
  return a.score > b.score;
}

}  // namespace

Tensor TextModel::predict(std::span<const TextPair> texts, const PredictOptions& options) const {
  required_head(*this, kPredict);  // before the texts are tokenized
  const std::string prompt = prompt_of(EmbedOptions{.prompt = options.prompt});
  std::vector<Encoding> encodings;
  encodings.reserve(texts.size());
  std::string whole;
  for (const TextPair& text : texts) {
    interruption_point();
    const std::string_view first =
        prompt.empty() ? text.first : std::string_view(whole.assign(prompt).append(text.first));
    encodings.push_back(text.second ? encode(first, *text.second, options.max_tokens)
                                    : encode(first, options.max_tokens));
  }
  return predict(encodings, options);
}

Tensor TextModel::predict(std::span<const Encoding> texts, const PredictOptions& options) const {
  const SequenceHead head = required_head(*this, kPredict);
  Tensor scores(DType::f32, {static_cast<std::int64_t>(texts.size()), head.count()});
  model::for_each_batch(kPredict, transformer().description(), texts, options.batch_tokens,
                        [&](const TokenBatch& batch, std::int64_t first) {
                          copy(head.logits(transformer().forward(batch), batch),
                               scores.view().slice(0, first, first + batch.texts()));
                        });
  require_intact();
  apply(options.function.value_or(head.cross_encoder_function()), scores);
  return scores;
}

std::vector<RankedPassage> TextModel::rank(std::string_view query, std::span<const std::string_view> passages,
                                           const PredictOptions& options) const {
  if (const std::int64_t count = required_head(*this, "rank").count(); count != 1)
    refuse("rank", "the model gives ", count, " scores for a pair, and ranking needs exactly one");
  std::vector<TextPair> pairs;
  pairs.reserve(passages.size());
  for (const std::string_view passage : passages) pairs.push_back({query, passage});
  const Tensor scores = predict(pairs, options);
  std::vector<RankedPassage> ranked;
  ranked.reserve(passages.size());
  for (const float score : scores.values<float>())
    ranked.push_back({static_cast<std::int64_t>(ranked.size()), score});
  std::stable_sort(ranked.begin(), ranked.end(), is_better);
  return ranked;
}

}  // namespace attend
