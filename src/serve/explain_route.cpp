// POST /explain: what attention did with a text, in any layer and head, and the text's vector.
#include <attend/interrupt.h>
#include <attend/lens.h>
#include <attend/pooling.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/counting.h"
#include "explain/json_object.h"
#include "serve/routes.h"
#include "serve/tokens_of.h"
#include "serve/vectors.h"

namespace attend::serve {
namespace {

using Json = nlohmann::ordered_json;
using explain::JsonObject;

// Nobody waits any more: ends the work, and is never an answer.
struct GoneAway : std::runtime_error {
  GoneAway() : std::runtime_error("the client has gone") {}
};

// The keys that a row gives most to, the largest first.
Json top_of(std::span<const double> row, std::int64_t count) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto kept =
      static_cast<std::ptrdiff_t>(std::min<std::size_t>(static_cast<std::size_t>(count), row.size()));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                    [&](std::size_t a, std::size_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
  Json top = Json::array();
  for (std::ptrdiff_t i = 0; i < kept; ++i)
    top.push_back(
        {{"key", order[static_cast<std::size_t>(i)]}, {"weight", row[order[static_cast<std::size_t>(i)]]}});
  return top;
}

double entropy_of(std::span<const double> row) {
  double entropy = 0;
  for (const double weight : row)
    if (weight > 0) entropy -= weight * std::log(weight);
  return entropy;
}

void require_heads(const TextModel& model, const HeadChoice& heads) {
  const ModelDescription& description = model.transformer().description();
  const auto require = [](const char* thing, std::optional<std::int64_t> value, std::int64_t count) {
    if (value && !is_number(*value, count))
      throw Refused(Fault::invalid, out_of_count(thing, thing, *value, count), thing);
  };
  require("layer", heads.layer, description.layer_count());
  require("head", heads.head, description.heads());
}

// One pass over the rows: only the map, which is asked for, takes more than a row's memory.
JsonObject attention_json(const Reading& reading, const ExplainBody& body) {
  const std::vector<Word> all = body.words ? reading.words() : single_tokens(reading);
  std::vector<Word> units = all;  // those that are told
  if (!body.special) std::erase_if(units, [](const Word& unit) { return unit.special; });
  const auto n = static_cast<std::int64_t>(units.size());
  std::vector<double> received(units.size()), entropy;
  Json top = Json::array();
  Tensor map;
  if (body.map) map = Tensor(DType::f64, {n, n});
  const auto take = [&](std::span<const double> row) {
    for (std::size_t key = 0; key < row.size(); ++key) received[key] += row[key];
    if (body.map) std::ranges::copy(row, map.values<double>().data() + std::ssize(entropy) * n);
    entropy.push_back(entropy_of(row));
    top.push_back(top_of(row, body.top_k));
  };
  lens_each_row(reading, {.method = body.method, .heads = body.heads}, all,
                [&](std::size_t unit, std::span<const double> row) {
                  if (body.special) return take(row);
                  if (!all[unit].special) take(without_special(row, all));
                });
  JsonObject json;
  json.add(body.words ? "words" : "tokens", explain::units_json(units));
  json.add("top", top).add("received", received).add("entropy", entropy);
  if (body.map) json.add("map", map);
  return json;
}

// As embed() makes it, from the same pass where nothing comes after pooling.
Tensor vector_of(const Reading& reading, const Encoding& tokens) {
  const TextModel& model = reading.model();
  const ModelFiles& files = model.files();
  if (!files.dense.empty()) return model.embed(std::span(&tokens, 1));
  Tensor vector(DType::f32, {1, model.embedding_size()});
  pool(reading.hidden(reading.layers()), std::vector<std::int64_t>{0, reading.size()},
       files.pooling.empty() ? std::vector{Pooling::mean} : files.pooling, vector);
  if (files.normalize) normalize_rows(vector, vector);
  return vector;
}

}  // namespace

void answer_explain(Context& context, const SharedCall& call) {
  const ExplainBody body = parse_explain(call->request().body);
  const ServedModel& served = context.models.find(body.model);
  require_heads(*served.model, body.heads);
  if (served.model->transformer().description().has_source())
    refuse_with(Fault::wrong_kind, "a model with an encoder and a decoder is not explained here");
  const Encoding tokens = tokens_of(*served.model, body.text, body.reading);
  const auto size = static_cast<std::int64_t>(tokens.size());
  call->count(1, size);
  if (body.method == LensMethod::rollout && size > kMostRolloutTokens)
    refuse_with(Fault::too_long, "rollout is for texts of at most ", kMostRolloutTokens,
                " tokens, and this one has ", size);

  const auto work = std::make_shared<Work>();
  const auto answer = std::make_shared<std::string>();
  work->model = served.model;
  work->task = [call, body, answer, tokens, name = served.name, model = served.model] {
    const Interruptible until_gone([&] {
      if (call->gone()) throw GoneAway();
    });
    const Reading reading(*model, prompt_of(*model, {}) + body.text);
    const Tensor vector = vector_of(reading, tokens);
    require_finite(vector, 0);
    JsonObject json;
    json.add("model", Json(name));
    json.add("layer", body.heads.layer ? Json(*body.heads.layer) : Json());
    json.add("head", body.heads.head ? Json(*body.heads.head) : Json());
    json.add("method", Json(std::string(name_of(body.method))));
    json.add("dropped", Json(tokens.dropped));
    json.add("vector", vector.view().select(0, 0));
    json.add("attention", attention_json(reading, body));
    *answer = json.text();
  };
  context.compute(call, work,
                  [answer](const Work&) -> http::Response { return {.body = std::move(*answer)}; });
}

}  // namespace attend::serve
