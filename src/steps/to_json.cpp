#include "steps/to_json.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "save/json_array.h"

namespace attend::steps {
namespace {

using Json = nlohmann::ordered_json;

// A single head does not get an axis of its own.
ConstTensorView by_head(const Tensor& stage) {
  return stage.size(0) == 1 ? stage.view().select(0, 0) : ConstTensorView(stage);
}

Json saturation_of(const Saturation& values) {
  return {{"spread", values.spread}, {"largest_weight", values.largest}, {"gradient", values.gradient}};
}

}  // namespace

std::string to_json(const Lesson& lesson, const Walk& walk, const JsonExtras& extras) {
  constexpr std::size_t kUsualNumber = 22;  // bytes, with its comma
  std::string text = "{";
  text.reserve(kUsualNumber * 2 * walk.scores.values<double>().size());
  const auto key = [&](const char* name) -> std::string& {
    return text.append(text.size() > 1 ? "," : "").append("\"").append(name).append("\":");
  };
  key("tokens") += Json(lesson.tokens).dump();
  if (lesson.key_tokens != lesson.tokens) key("key_tokens") += Json(lesson.key_tokens).dump();
  key("scale") += Json(walk.scale).dump();
  save::append_json_array(key("scores"), by_head(walk.scores));
  save::append_json_array(key("weights"), by_head(walk.weights));
  save::append_json_array(key("output"), walk.output);
  if (walk.heads > 1) {
    save::append_json_array(key("head_outputs"),
                            walk.concat.view().split(1, walk.heads, walk.dv).transposed(0, 1));
  }
  if (extras.focus) {
    const Json focus = {{"token", lesson.tokens[static_cast<std::size_t>(*extras.focus)]},
                        {"row", *extras.focus}};
    key("focus") += focus.dump();
  }
  if (extras.order) {
    const Json order = {{"without_positions", extras.order->without_positions.moved},
                        {"with_positions", extras.order->with_positions.moved}};
    key("order") += order.dump();
  }
  if (extras.saturation) {
    Json rows = Json::array();
    for (const SaturationRow& row : *extras.saturation) {
      rows.push_back(
          {{"d", row.d}, {"unscaled", saturation_of(row.unscaled)}, {"scaled", saturation_of(row.scaled)}});
    }
    key("saturation") += rows.dump();
  }
  return text += "}\n";
}

}  // namespace attend::steps
