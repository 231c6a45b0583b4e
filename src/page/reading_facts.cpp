#include "page/reading_facts.h"

#include <attend/lens_notable.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace attend::page {
namespace {

using Json = nlohmann::ordered_json;

Json words_json(const std::vector<Word>& words) {
  Json list = Json::array();
  for (const Word& word : words) {
    list.push_back({{"text", word.text},
                    {"special", word.special},
                    {"part", word.part},
                    {"first", word.first_token},
                    {"last", word.last_token},
                    {"place", {word.place.begin, word.place.end}}});
    if (word.unknown) list.back()["unknown"] = true;
  }
  return list;
}

double scale_of(const Reading::Layer& layer) {
  return layer.options.scale.value_or(1 / std::sqrt(static_cast<double>(layer.q.size(2))));
}

// Which tokens look at which in each layer, and what else its scores depend on.
Json layers_json(const Reading& reading) {
  Json list = Json::array();
  const auto ends = [](const TokenRange& range) { return Json{range.first, range.last}; };
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    const AttentionOptions& options = reading.layer(layer).options;
    Json attends = {{"name", reading.layer_name(layer)},
                    {"rows", ends(reading.looking(layer))},
                    {"keys", ends(reading.looked_at(layer))},
                    {"causal", options.causal}};
    // What most models do not have is left out of their pages.
    const Window& window = options.window;
    if (window.left != Window::kUnlimited || window.right != Window::kUnlimited)
      attends["window"] = {window.left, window.right};
    if (reading.key_heads(layer) != reading.heads()) attends["keyHeads"] = reading.key_heads(layer);
    if (options.softcap > 0) attends["softcap"] = options.softcap;
    if (!options.sinks.empty()) attends["sinks"] = options.sinks;
    if (options.scale != reading.layer(1).options.scale) attends["scale"] = scale_of(reading.layer(layer));
    list.push_back(std::move(attends));
  }
  return list;
}

// What rests on the first token, and whether it is left out at first. A special one is left out as such.
Json sink_json(const FirstToken& first, SinkChoice choice) {
  return {{"token", first.text},
          {"share", first.share},
          {"special", first.special},
          {"isSink", first.is_sink()},
          {"folded", !first.special && folds_first_token(choice, first)}};
}

// The heads that are worth seeing; links as [from, to, weight], places in `words`.
Json notable_json(const Reading& reading) {
  Json list = Json::array();
  for (const NotableHead& head : notable_heads(reading)) {
    Json links = Json::array();
    for (const WordLink& link : head.links) links.push_back({link.from, link.to, link.weight});
    list.push_back({{"layer", head.layer},
                    {"head", head.head},
                    {"role", std::string(name_of(head.role))},
                    {"share", head.share},
                    {"links", std::move(links)},
                    {"says", sentence_of(reading, head)}});
  }
  return list;
}

}  // namespace

Json facts_of(const Reading& reading, bool served, SinkChoice sink) {
  const Reading::Layer& first = reading.layer(1);
  const std::int64_t head_size = first.q.size(2);
  Json tokens = words_json(single_tokens(reading));
  for (Json& token : tokens) {
    token.erase("first");
    token.erase("last");
  }
  Json facts = {{"model", reading.model_name()},
                {"family", reading.family()},
                {"causal", reading.is_causal()},
                {"layers", reading.layers()},
                {"attends", layers_json(reading)},
                {"heads", reading.heads()},
                {"headSize", head_size},
                {"scale", scale_of(first)},
                {"text", reading.text()},
                {"second", reading.second()},
                {"served", served},
                {"tokens", std::move(tokens)},
                {"words", words_json(reading.words())},
                {"dropped", reading.tokens().dropped},
                {"methods", {"raw", "norm", "rollout"}}};
  if (const auto begins = reading.target_begins()) {
    facts["answerBegins"] = *begins;
    if (!reading.answer().empty()) facts["answer"] = reading.answer();
  }
  if (const std::int64_t unknown = reading.unknown_tokens(); unknown > 0) facts["unknown"] = unknown;
  if (!reading.has_model()) facts["methods"] = {"raw", "rollout"};  // norm needs its output projections
  const std::optional<FirstToken> start = first_token_of(reading);
  folds_first_token(sink, start);  // refuses what cannot be folded
  if (start && start->rows > 0) facts["sink"] = sink_json(*start, sink);
  facts["notable"] = notable_json(reading);
  if (reading.not_finite()) facts["notFinite"] = sentence_of(reading, *reading.not_finite());
  return facts;
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace attend::page
