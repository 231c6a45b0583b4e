#include "inventory/listing.h"

#include <attend/model_files.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "draw/printable.h"
#include "draw/table.h"

namespace attend::inventory {
namespace {

constexpr int kLongestLine = 10'000;

// 22.7M, 7.24B: three digits, which is what people call models by.
std::string short_number(double value, const std::array<const char*, 5>& units) {
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.*f%s",
                value >= 99.95 || unit == 0 ? 0
                : value >= 9.995            ? 1
                                            : 2,
                value, units[unit]);
  return text;
}
std::string parameters_text(std::int64_t count) {
  return short_number(static_cast<double>(count), {"", "K", "M", "B", "T"});
}
std::string bytes_text(std::uint64_t bytes) {
  return short_number(static_cast<double>(bytes), {" B", " kB", " MB", " GB", " TB"});
}

std::string heads_text(const ModelEntry& model) {
  if (model.key_heads == model.heads) return std::to_string(model.heads);
  return joined(model.heads, " on ", model.key_heads);
}

const char* use_of(const ModelEntry& model) {
  return model.writes ? "writes" : model.scores ? "scores" : model.vectors ? "vectors" : "reads";
}

draw::Table readable_models(const Inventory& inventory) {
  draw::Table table{.title = "",
                    .label_header = "family",
                    .columns = {{"layers"},
                                {"heads"},
                                {"parameters"},
                                {"numbers", draw::Align::left},
                                {"on disk"},
                                {"it", draw::Align::left},
                                {"model", draw::Align::left}},
                    .rows = {}};
  for (const ModelEntry& model : inventory.models) {
    if (!model.problem.empty()) continue;
    table.rows.push_back(
        {model.family,
         {std::to_string(model.layers), heads_text(model), parameters_text(model.weights.parameters),
          type_names(model.weights), bytes_text(model.bytes), use_of(model), model.name}});
  }
  return table;
}

std::string nothing_there(const Inventory& inventory) {
  std::string places;
  for (const std::string& place : inventory.places)
    places.append(places.empty() ? "" : " or ").append(draw::printable(place));
  if (places.empty())
    places = draw::printable(joined(hub_cache_folder().string(), " or ", models_folder().string()));
  return joined("There are no models in ", places, "; `attend pull ", kDefaultModel, "` gets one.\n");
}

}  // namespace

std::string models_text(const Inventory& inventory, const draw::Terminal& terminal) {
  std::string text;
  if (inventory.models.empty()) text = nothing_there(inventory);
  const draw::Table table = readable_models(inventory);
  if (!table.rows.empty()) {
    draw::Terminal endless = terminal;  // a name is of use only as a whole, so its line may be a long one
    endless.width = kLongestLine;
    text = draw::render_table(table, endless, table.rows.size());
  }
  bool first = true;
  for (const ModelEntry& model : inventory.models) {
    if (model.problem.empty()) continue;
    if (first) text += joined(text.empty() ? "" : "\n", "Not read by attend:\n");
    first = false;
    text += joined("  ", draw::printable(model.name), ": ", draw::printable(model.problem), "\n");
  }
  for (const std::string& note : inventory.notes) text += draw::printable(note) + "\n";
  return text;
}

std::string models_json(const Inventory& inventory) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const ModelEntry& model : inventory.models) {
    Json one = {{"name", model.name}, {"path", model.path.string()}, {"readable", model.problem.empty()}};
    if (!model.problem.empty()) one["problem"] = model.problem;
    if (!model.family.empty()) one["family"] = model.family;
    if (model.layers > 0) {
      one["layers"] = model.layers;
      one["heads"] = model.heads;
      one["key_heads"] = model.key_heads;
      one["writes"] = model.writes;
      one["sentence_vectors"] = model.vectors;
      one["scores"] = model.scores;
    }
    if (model.weights.bytes > 0) {
      one["parameters"] = model.weights.parameters;
      one["types"] = model.weights.types;
    }
    one["tokenizer"] = model.tokenizer;
    one["bytes"] = model.bytes;
    list.push_back(std::move(one));
  }
  const Json all = {{"places", inventory.places}, {"models", list}, {"notes", inventory.notes}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attend::inventory
