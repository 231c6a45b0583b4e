#include "explore/reading_json.h"

#include <attend/lens_tiles.h>

#include <cmath>
#include <limits>

#include "base/counting.h"
#include "page/inside.h"
#include "page/reading_facts.h"

namespace attend::explore {
namespace {

using Json = nlohmann::ordered_json;

double scale_of(const Reading::Layer& layer) {
  return layer.options.scale.value_or(1 / std::sqrt(static_cast<double>(layer.q.size(2))));
}

void require_place(const char* name, std::int64_t value, std::int64_t count) {
  if (value < 0 || value >= count) refuse("explore", name, " is ", value, ", but there are ", count);
}

// One row of one head, by its number, at one stage of softmax.
std::vector<double> stage_row(const Reading& reading, std::int64_t number, std::int64_t head,
                              std::int64_t query, Stage stage) {
  const Reading::Layer& layer = reading.layer(number);
  const Tensor row = attention_rows(layer.q, layer.k, layer.options, stage,
                                    {.heads = {head - 1}, .rows = {query}}, layer.state);
  return {row.values<float>().begin(), row.values<float>().end()};
}

std::vector<float> vector_of(const Tensor& all, std::int64_t token, std::int64_t head_index) {
  const Tensor one = copy_of(all.view().select(0, token).select(0, head_index));
  return {one.values<float>().begin(), one.values<float>().end()};
}

double state_of(const Tensor& all, std::int64_t token, std::int64_t head_index) {
  return static_cast<double>(all.values<float>()[static_cast<std::size_t>(token * all.size(1) + head_index)]);
}

void require_head(const Reading& reading, std::int64_t layer, std::int64_t head, std::int64_t query) {
  reading.layer(layer);
  require_number("explore", "head", head, reading.heads());
  require_place("query", query, reading.size());
}

}  // namespace

Json facts_json(const Reading& reading, std::string_view model, SinkChoice sink) {
  Json facts = page::facts_of(reading, true, sink);
  facts["model"] = model;  // the name that the page asks for
  facts["inside"] = page::inside_facts(reading);
  if (reading.size() > kMostRolledTileTokens) {
    facts["methods"] = {"raw"};
    if (reading.has_model()) facts["methods"].push_back("norm");
  }
  return facts;
}

Json cell_json(const Reading& reading, std::int64_t layer, std::int64_t head, std::int64_t query,
               std::int64_t key, double contribution) {
  require_head(reading, layer, head, query);
  require_place("key", key, reading.size());
  const auto place = static_cast<std::size_t>(key);
  const double product = stage_row(reading, layer, head, query, Stage::scores)[place];
  const double score = stage_row(reading, layer, head, query, Stage::biased)[place];
  const bool masked = score == -std::numeric_limits<double>::infinity();
  const Reading::Layer& part = reading.layer(layer);
  const std::int64_t index = head - 1;
  const std::int64_t key_index = index / (part.q.size(1) / part.k.size(1));  // several heads may share one
  return {{"q", vector_of(part.q, query, index)},
          {"k", vector_of(part.k, key, key_index)},
          {"v", vector_of(part.v, key, key_index)},
          {"scale", scale_of(part)},
          {"masked", masked},
          {"bias", masked ? 0 : score - product},
          {"score", masked ? Json(nullptr) : Json(score)},
          {"max", state_of(part.state.max, query, index)},
          {"sum", state_of(part.state.sum, query, index)},
          {"weight", stage_row(reading, layer, head, query, Stage::weights)[place]},
          {"contribution", contribution}};
}

std::vector<double> softmax_row(const Reading& reading, std::int64_t layer, std::int64_t head,
                                std::int64_t query) {
  require_head(reading, layer, head, query);
  std::vector<double> row = stage_row(reading, layer, head, query, Stage::biased);
  const std::vector<double> weights = stage_row(reading, layer, head, query, Stage::weights);
  row.insert(row.end(), weights.begin(), weights.end());
  return row;
}

}  // namespace attend::explore
