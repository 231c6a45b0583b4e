#include "explain/explanation.h"
#include "explain/json_text.h"

namespace attend::explain {

std::string explanation_json(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation) {
  JsonObject json;
  json.add("model", reading.model().files().name).add("text", reading.text());
  if (!reading.second().empty()) json.add("second", reading.second());
  std::vector<std::string> tokens;
  for (const std::int32_t id : reading.tokens().ids)
    tokens.emplace_back(reading.model().tokenizer().token(id));
  json.add("tokens", tokens).add("dropped_tokens", reading.tokens().dropped);
  json.add("method", std::string(name_of(request.method)));
  json.add("layer", request.heads.layer ? nlohmann::ordered_json(*request.heads.layer) : nullptr);
  json.add("head", request.heads.head ? nlohmann::ordered_json(*request.heads.head + 1) : nullptr);
  json.add(request.tokens ? "units" : "words", units_json(explanation.units));
  json.add("weights", ConstTensorView(explanation.map));
  json.add("left_out", units_json(explanation.left_out)).add("special_share", explanation.special_share);
  if (explanation.focus) {
    const Focus& focus = *explanation.focus;
    JsonObject row;
    row.add("index", focus.unit)
        .add("text", explanation.units[focus.unit].text)
        .add("looks", focus.looks)
        .add("takes", focus.takes)
        .add("looks_at_special", focus.looks_at_special)
        .add("takes_from_special", focus.takes_from_special);
    json.add("focus", row);
  }
  return json.finish();
}

}  // namespace attend::explain
