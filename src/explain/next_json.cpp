#include "explain/json_object.h"
#include "explain/next.h"

namespace attend::explain {
namespace {

using NextJson = nlohmann::ordered_json;

NextJson token_json(const Reading& reading, std::int32_t token) {
  return {{"token", std::string(reading.model().tokenizer().token(token))},
          {"text", reading.model().tokenizer().decode(std::span(&token, 1), false)},
          {"id", token}};
}

NextJson candidates_json(const Reading& reading, const std::vector<TokenGuess>& guesses) {
  NextJson list = NextJson::array();
  for (const TokenGuess& guess : guesses) {
    NextJson one = token_json(reading, guess.token);
    one["probability"] = guess.probability;
    list.push_back(one);
  }
  return list;
}

}  // namespace

std::string next_json(const Reading& reading, const Reading* other, const NextRequest& request,
                      const NextAnswer& answer) {
  JsonObject json;
  json.add("model", reading.model().files().name).add("text", reading.text());
  std::vector<std::string> tokens;
  for (const std::int32_t id : reading.tokens().ids)
    tokens.emplace_back(reading.model().tokenizer().token(id));
  json.add("tokens", tokens).add("dropped_tokens", reading.tokens().dropped);
  json.add("place", answer.place).add("temperature", request.temperature);
  json.add("candidates", candidates_json(reading, answer.guesses));
  json.add("watched", token_json(reading, answer.layers.watched));
  NextJson layers = NextJson::array();
  for (const LayerGuesses& layer : answer.layers.layers) {
    layers.push_back({{"layer", layer.layer},
                      {"candidates", candidates_json(reading, layer.guesses)},
                      {"probability", layer.probability},
                      {"rank", layer.rank + 1}});
  }
  json.add("layers", layers);
  JsonObject attribution;
  attribution.add("method", std::string(name_of(request.attribution)));
  attribution.add("tokens", answer.attributions.tokens).add("logit", answer.attributions.logit);
  if (request.attribution == Attribution::integrated) {
    attribution.add("steps", request.steps)
        .add("neutral", token_json(reading, answer.attributions.neutral_token))
        .add("neutral_logit", answer.attributions.neutral_logit)
        .add("missing", answer.attributions.missing);
  }
  json.add("attribution", attribution);
  if (answer.patched) {
    const PatchedAnswers& patched = *answer.patched;
    JsonObject patching;
    patching.add("other_text", other->text())
        .add("answer", token_json(reading, patched.answer))
        .add("other_answer", token_json(reading, patched.other))
        .add("clean", patched.clean)
        .add("changed", patched.changed)
        .add("states", ConstTensorView(patched.states))
        .add("heads", ConstTensorView(patched.heads));
    json.add("patching", patching);
  }
  return json.finish();
}

}  // namespace attend::explain
