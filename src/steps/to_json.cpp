#include "steps/to_json.h"

#include <nlohmann/json.hpp>

namespace attend::steps {
namespace {

using Json = nlohmann::ordered_json;

Json array_of(ConstTensorView view) {
  Json result = Json::array();
  for (std::int64_t i = 0; i < view.size(0); ++i) {
    if (view.rank() == 1) {
      result.push_back(view.data<double>()[i * view.stride(0)]);
    } else {
      result.push_back(array_of(view.select(0, i)));
    }
  }
  return result;
}

// One head needs no axis of its own.
Json by_head(const Tensor& stage) {
  return array_of(stage.size(0) == 1 ? stage.view().select(0, 0) : stage.view());
}

Json saturation_of(const Saturation& values) {
  return {{"spread", values.spread}, {"largest_weight", values.largest}, {"gradient", values.gradient}};
}

}  // namespace

std::string to_json(const Lesson& lesson, const Walk& walk, const JsonExtras& extras) {
  Json json;
  json["tokens"] = lesson.tokens;
  if (lesson.key_tokens != lesson.tokens) json["key_tokens"] = lesson.key_tokens;
  json["scale"] = walk.scale;
  json["scores"] = by_head(walk.scores);
  json["weights"] = by_head(walk.weights);
  json["output"] = array_of(walk.output);
  if (walk.heads > 1) {
    json["head_outputs"] = array_of(walk.concat.view().split(1, walk.heads, walk.dv).transposed(0, 1));
  }
  if (extras.focus) {
    json["focus"] = {{"token", lesson.tokens[static_cast<std::size_t>(*extras.focus)]},
                     {"row", *extras.focus}};
  }
  if (extras.order) {
    json["order"] = {{"without_positions", extras.order->without_positions.moved},
                     {"with_positions", extras.order->with_positions.moved}};
  }
  if (extras.saturation) {
    for (const SaturationRow& row : *extras.saturation) {
      json["saturation"].push_back(
          {{"d", row.d}, {"unscaled", saturation_of(row.unscaled)}, {"scaled", saturation_of(row.scaled)}});
    }
  }
  return json.dump();
}

}  // namespace attend::steps
