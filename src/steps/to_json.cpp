#include "steps/to_json.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace attend::steps {
namespace {

using Json = nlohmann::ordered_json;

// Nested arrays, written straight to the text: as nodes of a tree, the 2 x 16 million numbers of 4096 tokens
// would take 2 GB.
void append(std::string& text, ConstTensorView view) {
  char separator = '[';
  for (std::int64_t i = 0; i < view.size(0); ++i) {
    text += std::exchange(separator, ',');
    if (view.rank() > 1) {
      append(text, view.select(0, i));
      continue;
    }
    std::array<char, 32> number;  // the longest double, shortest form that reads back the same: 24 characters
    const auto end =
        std::to_chars(number.data(), number.data() + number.size(), view.data<double>()[i * view.stride(0)]);
    const std::string_view digits(number.data(), static_cast<std::size_t>(end.ptr - number.data()));
    text += digits;
    if (digits.find_first_of(".e") == digits.npos) text += ".0";  // a double stays one for every reader
  }
  text += ']';
}

// One head needs no axis of its own.
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
  append(key("scores"), by_head(walk.scores));
  append(key("weights"), by_head(walk.weights));
  append(key("output"), walk.output);
  if (walk.heads > 1) {
    append(key("head_outputs"), walk.concat.view().split(1, walk.heads, walk.dv).transposed(0, 1));
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
