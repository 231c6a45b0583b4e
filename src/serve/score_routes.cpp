// POST /predict and /rerank: the scores of classifiers and cross-encoders, those of the library bit for bit.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "serve/routes.h"
#include "serve/tokens_of.h"
#include "serve/vectors.h"

namespace attend::serve {
namespace {

using Json = nlohmann::ordered_json;

SequenceHead required_head(const ServedModel& served) {
  std::optional<SequenceHead> head = served.model->sequence_head();
  if (head) return *std::move(head);
  refuse_with(Fault::wrong_kind, served.name,
              " cannot score texts: its config.json names no class ForSequenceClassification");
}

std::shared_ptr<Work> work_of(const ServedModel& served, Call& call, std::span<const TextPair> texts,
                              const InputOptions& reading) {
  const auto work = std::make_shared<Work>();
  work->model = served.model;
  work->result = Result::scores;
  for (const TextPair& text : texts) work->texts.push_back(tokens_of(*served.model, text, reading));
  call.count(static_cast<std::int64_t>(work->texts.size()), work->tokens());
  return work;
}

// Of text `index`, which has (1, labels) logits.
std::span<const float> scores_of(Work& done, std::size_t index, ScoreFunction function) {
  Tensor& logits = done.vectors[index];
  apply(function, logits);
  require_finite(logits, index, "score");
  return std::as_const(logits).values<float>();
}

// Equal ones in the order that they have.
std::vector<std::size_t> best_first(std::span<const float> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

Json rank_json(const RerankBody& asked, std::size_t index, float score) {
  Json rank = {{"index", index}, {asked.documents ? "relevance_score" : "score", score}};
  if (!asked.return_text) return rank;
  if (asked.documents) {
    rank["document"] = {{"text", asked.texts[index]}};
  } else {
    rank["text"] = asked.texts[index];
  }
  return rank;
}

}  // namespace

void answer_predict(Context& context, const SharedCall& call) {
  const PredictBody body = parse_predict(call->request().body, most_inputs(context));
  const ServedModel& served = context.models.find(body.model);
  const SequenceHead head = required_head(served);
  const ScoreFunction function = body.raw_scores ? ScoreFunction::identity : head.classifier_function();
  std::vector<TextPair> texts;
  for (const PredictBody::Text& text : body.texts) texts.push_back({text.first, text.second});
  context.compute(call, work_of(served, *call, texts, body.reading),
                  [head, function, single = body.single](Work& done) -> http::Response {
                    Json answers = Json::array();
                    for (std::size_t i = 0; i < done.vectors.size(); ++i) {
                      const std::span<const float> scores = scores_of(done, i, function);
                      Json labels = Json::array();
                      for (const std::size_t label : best_first(scores))
                        labels.push_back({{"score", scores[label]}, {"label", head.labels()[label]}});
                      answers.push_back(std::move(labels));
                    }
                    return json_answer(single ? answers.front() : answers);
                  });
}

void answer_rerank(Context& context, const SharedCall& call) {
  RerankBody body = parse_rerank(call->request().body, most_inputs(context), kMostOpenAiInputs);
  const ServedModel& served = context.models.find(body.model);
  if (const std::int64_t count = required_head(served).count(); count != 1)
    refuse_with(Fault::wrong_kind, served.name, " gives ", count,
                " scores for a text, and ranking needs exactly one; /predict shows them");
  // The query is read once with each text.
  const std::size_t most = most_inputs(context) * static_cast<std::size_t>(context.options.payload_limit);
  if (body.query.size() > most / body.texts.size())
    refuse_with(Fault::too_long, "a query of ", body.query.size(), " bytes is too long for ",
                body.texts.size(), " texts");
  const ScoreFunction function = body.raw_scores ? ScoreFunction::identity : ScoreFunction::sigmoid;
  std::vector<TextPair> texts;
  for (const std::string& text : body.texts) texts.push_back({body.query, text});
  const auto work = work_of(served, *call, texts, body.reading);
  context.compute(call, work,
                  [function, name = served.name, asked = std::move(body)](Work& done) -> http::Response {
                    std::vector<float> scores;
                    for (std::size_t i = 0; i < done.vectors.size(); ++i)
                      scores.push_back(scores_of(done, i, function).front());
                    std::vector<std::size_t> order = best_first(scores);
                    if (asked.top_n)
                      order.resize(std::min(order.size(), static_cast<std::size_t>(*asked.top_n)));
                    Json ranked = Json::array();
                    for (const std::size_t index : order)
                      ranked.push_back(rank_json(asked, index, scores[index]));
                    if (!asked.documents) return json_answer(ranked);
                    const std::int64_t tokens = done.tokens();
                    return json_answer({{"model", name},
                                        {"results", std::move(ranked)},
                                        {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
                  });
}

}  // namespace attend::serve
