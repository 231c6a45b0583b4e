#include "steps/lesson_json.h"

#include <nlohmann/json.hpp>

namespace attend::steps {
namespace {

using Json = nlohmann::ordered_json;

void add(Json& json, const char* key, const std::optional<Tensor>& tensor) {
  if (!tensor) return;
  const std::span<const double> values = tensor->values<double>();
  if (tensor->rank() == 1) {
    json[key] = std::vector<double>(values.begin(), values.end());
    return;
  }
  Json rows = Json::array();
  const auto columns = static_cast<std::size_t>(tensor->size(1));
  for (std::size_t i = 0; i < values.size(); i += columns) {
    const auto row = values.subspan(i, columns);
    rows.push_back(std::vector<double>(row.begin(), row.end()));
  }
  json[key] = std::move(rows);
}

}  // namespace

std::string lesson_json(const Lesson& lesson) {
  Json json;
  json["tokens"] = lesson.tokens;
  if (lesson.key_tokens != lesson.tokens) json["key_tokens"] = lesson.key_tokens;
  add(json, "x", lesson.x);
  add(json, "context", lesson.context);
  add(json, "q", lesson.q);
  add(json, "k", lesson.k);
  add(json, "v", lesson.v);
  add(json, "wq", lesson.wq);
  add(json, "wk", lesson.wk);
  add(json, "wv", lesson.wv);
  add(json, "wo", lesson.wo);
  add(json, "bq", lesson.bq);
  add(json, "bk", lesson.bk);
  add(json, "bv", lesson.bv);
  add(json, "bo", lesson.bo);
  if (lesson.heads != 1) json["heads"] = lesson.heads;
  if (lesson.causal) json["causal"] = true;
  if (lesson.scale) json["scale"] = *lesson.scale;
  if (lesson.sinusoidal_positions) json["positions"] = "sinusoidal";
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attend::steps
