#include "page/inside.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/error.h"

namespace attend::page {
namespace {

using Json = nlohmann::ordered_json;

Json texts_json(const Reading& reading, const std::set<std::int32_t>& tokens) {
  Json texts = Json::object();
  for (const std::int32_t token : tokens) texts[std::to_string(token)] = candidate_text(reading, token);
  return texts;
}

Json part_json(const BlockPart& part) {
  return {{"input", part.input}, {"length", part.length}, {"cosine", part.cosine}};
}

Json logits_json(const Reading& reading, const LogitParts& parts) {
  Json layers = Json::array();
  for (const LayerLogits& layer : parts.layers)
    layers.push_back({{"heads", layer.heads}, {"rest", layer.rest}, {"feedForward", layer.feed_forward}});
  return {{"token", parts.token},       {"text", candidate_text(reading, parts.token)},
          {"logit", parts.logit},       {"embedding", parts.embedding},
          {"constant", parts.constant}, {"layers", std::move(layers)}};
}

void require_expected(const Reading& reading, std::int64_t place) {
  if (expects_after(reading, place)) return;
  refuse("explore", "place is ", place, ", but the model expects a token only after ",
         expects_next(reading).first, " to ", expects_next(reading).last - 1);
}

}  // namespace

std::vector<double> temperatures() {
  std::vector<double> all;
  for (int tenth = 1; tenth <= 20; ++tenth) all.push_back(tenth / 10.0);
  return all;
}

Json inside_facts(const Reading& reading) {
  if (!reading.has_model()) return {{"layers", Json::array()}};  // a recording is of attention alone
  const ModelDescription& description = reading.model().transformer().description();
  Json layers = Json::array();
  for (const LayerDescription& layer : description.layers) {
    Json one = {{"norm", std::string(name_of(layer.norm.place))},
                {"kind", std::string(name_of(layer.norm.kind))}};
    // What most layers have is left out.
    if (!layer.attention_norm) one["attentionNorm"] = false;
    if (!layer.feed_forward) one["feedForward"] = false;
    if (layer.feed_forward && layer.feed_forward->parallel) one["parallel"] = true;
    layers.push_back(std::move(one));
  }
  Json facts = {{"layers", std::move(layers)}};
  const TokenRange next = expects_next(reading);
  if (next.size() == 0) return facts;
  facts["next"] = {next.first, next.last};
  facts["vocabulary"] = description.vocabulary_size;
  facts["temperatures"] = temperatures();
  facts["logits"] = has_logit_parts(reading);
  return facts;
}

std::string candidate_text(const Reading& reading, std::int32_t token) {
  const Tokenizer& tokenizer = reading.model().tokenizer();
  if (token >= tokenizer.vocabulary_size() || tokenizer.token(token).empty())
    return "#" + std::to_string(token);
  const std::string text = tokenizer.decode(std::span(&token, 1), false);
  return text.empty() ? std::string(tokenizer.token(token)) : text;
}

bool expects_after(const Reading& reading, std::int64_t place) {
  return expects_next(reading).contains(place);
}

Json next_json(const Reading& reading, std::int64_t place) {
  require_expected(reading, place);
  std::vector<GuessPlace> places;
  for (std::int64_t layer = 0; layer <= reading.layers(); ++layer)
    places.push_back({.place = place, .layer = layer, .temperatures = temperatures()});
  if (place + 1 < reading.size())
    places.back().watched = reading.tokens().ids[static_cast<std::size_t>(place) + 1];
  const std::vector<PlaceGuesses> guesses = guesses_at(reading, places, kCandidates);
  Json layers = Json::array();
  std::set<std::int32_t> tokens;
  for (const PlaceGuesses& each : guesses) {
    tokens.insert(each.tokens.begin(), each.tokens.end());
    layers.push_back({{"tokens", each.tokens}, {"logits", each.logits}, {"sums", each.log_sums}});
  }
  const PlaceGuesses& last = guesses.back();
  const std::size_t one = 9;  // the place of temperature 1
  const Json following =
      places.back().watched ? Json(std::exp(last.watched - last.log_sums[one])) : Json(nullptr);
  return {{"place", place},
          {"following", following},
          {"layers", std::move(layers)},
          {"texts", texts_json(reading, tokens)}};
}

Json guess_table_json(const Reading& reading, std::int64_t first, std::int64_t last) {
  std::vector<GuessPlace> places;
  for (std::int64_t place = first; place < last; ++place) {
    require_expected(reading, place);
    for (std::int64_t layer = 0; layer <= reading.layers(); ++layer)
      places.push_back({.place = place, .layer = layer});
  }
  const std::vector<PlaceGuesses> guesses = guesses_at(reading, places, 1);
  Json columns = Json::array();
  std::set<std::int32_t> tokens;
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    if (places[i].layer == 0)
      columns.push_back({{"place", places[i].place}, {"tokens", Json::array()}, {"shares", Json::array()}});
    tokens.insert(guesses[i].tokens.front());
    columns.back()["tokens"].push_back(guesses[i].tokens.front());
    columns.back()["shares"].push_back(std::exp(-guesses[i].log_sums.front()));
  }
  return {{"places", std::move(columns)}, {"texts", texts_json(reading, tokens)}};
}

Json block_json(const Reading& reading, std::int64_t place, std::optional<std::int32_t> token) {
  std::vector<std::int32_t> tokens;
  if (token) {
    require_expected(reading, place);
    tokens = {*token};
  }
  const BlockPath path = block_path(reading, place, tokens);
  Json layers = Json::array();
  for (const BlockLayer& layer : path.layers) {
    layers.push_back({{"layer", layer.layer},
                      {"in", layer.in},
                      {"middle", layer.middle},
                      {"out", layer.out},
                      {"attention", part_json(layer.attention)},
                      {"heads", layer.heads},
                      {"rest", layer.rest},
                      {"feedForward", layer.feed_forward ? part_json(*layer.feed_forward) : Json(nullptr)}});
  }
  return {{"place", place},
          {"layers", std::move(layers)},
          {"logits", path.logits.empty() ? Json(nullptr) : logits_json(reading, path.logits.front())}};
}

}  // namespace attend::page
