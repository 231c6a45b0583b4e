#include "serve/explained.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "explain/array_list.h"
#include "explain/json_object.h"
#include "explain/units_arrays.h"
#include "serve/refused.h"

namespace attend::serve {
namespace {

using Json = nlohmann::ordered_json;
using explain::JsonObject;

// Of one answer: 32 MB as an array, about three times that as JSON.
constexpr std::int64_t kMostMapUnits = 2048;
constexpr std::int64_t kMostTopEntries = 1 << 18;

void require_size(const ExplainBody& body, std::int64_t units, std::int64_t top_count) {
  if (body.map && units > kMostMapUnits)
    refuse_with(Fault::too_long, "a map has at most ", kMostMapUnits, " rows, and this text has ", units);
  if (units * top_count > kMostTopEntries)
    refuse_with(Fault::too_long, units, " rows of ", top_count,
                " keys are more than an answer holds: at most ", kMostTopEntries, " in all");
}

double entropy_of(std::span<const double> row) {
  double entropy = 0;
  for (const double weight : row)
    if (weight > 0) entropy -= weight * std::log(weight);
  return entropy;
}

// The keys that a row gives most to, the largest first.
void add_top(Explained& explained, std::span<const double> row) {
  std::vector<std::int64_t> order(row.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto weight = [&](std::int64_t key) { return row[static_cast<std::size_t>(key)]; };
  std::partial_sort(
      order.begin(), order.begin() + explained.top_count, order.end(),
      [&](std::int64_t a, std::int64_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  for (std::int64_t i = 0; i < explained.top_count; ++i) {
    const std::int64_t key = order[static_cast<std::size_t>(i)];
    explained.top_units.push_back(key);
    explained.top_values.push_back(weight(key));
  }
}

Json top_json(const Explained& explained) {
  Json rows = Json::array();
  std::size_t next = 0;
  for (std::size_t unit = 0; unit < explained.units.size(); ++unit) {
    Json top = Json::array();
    for (std::int64_t i = 0; i < explained.top_count; ++i, ++next)
      top.push_back({{"key", explained.top_units[next]}, {"weight", explained.top_values[next]}});
    rows.push_back(std::move(top));
  }
  return rows;
}

}  // namespace

Explained explained_by(const Reading& reading, const ExplainBody& body) {
  const std::vector<Word> all = body.words ? reading.words() : single_tokens(reading);
  Explained explained{.units = all};
  if (!body.special) std::erase_if(explained.units, [](const Word& unit) { return unit.special; });
  const std::int64_t n = std::ssize(explained.units);
  explained.top_count = std::min(body.top_k, n);
  require_size(body, n, explained.top_count);
  explained.received.resize(explained.units.size());
  if (body.map) explained.map = Tensor(DType::f64, {n, n});
  const auto take = [&](std::span<const double> row) {
    for (std::size_t key = 0; key < row.size(); ++key) explained.received[key] += row[key];
    if (body.map)
      std::ranges::copy(row, explained.map.values<double>().data() + std::ssize(explained.entropy) * n);
    explained.entropy.push_back(entropy_of(row));
    add_top(explained, row);
  };
  lens_each_row(reading, {.method = body.method, .heads = body.heads}, all,
                [&](std::size_t unit, std::span<const double> row) {
                  if (body.special) return take(row);
                  if (!all[unit].special) take(without_special(row, all));
                });
  return explained;
}

std::string explained_json(const std::string& model, const ExplainBody& body, std::int64_t dropped,
                           const Tensor& vector, const Explained& explained) {
  JsonObject attention;
  attention.add(body.words ? "words" : "tokens", explain::units_json(explained.units));
  attention.add("top", top_json(explained))
      .add("received", explained.received)
      .add("entropy", explained.entropy);
  if (body.map) attention.add("map", explained.map);
  JsonObject json;
  json.add("model", Json(model));
  json.add("layer", body.heads.layer ? Json(*body.heads.layer) : Json());
  json.add("head", body.heads.head ? Json(*body.heads.head) : Json());
  json.add("method", Json(std::string(name_of(body.method))));
  json.add("dropped", Json(dropped));
  json.add("vector", vector.view().select(0, 0));
  json.add("attention", attention);
  return json.text();
}

std::string explained_npz(const Reading& reading, const Tensor& vector, const Explained& explained) {
  explain::ArrayList arrays;
  arrays.add("vector", copy_of(vector.view().select(0, 0)));
  if (explained.map.count() > 0) arrays.add("weights", copy_of(explained.map));
  explain::add_units(arrays, explained.units);
  const Dims top_shape{std::ssize(explained.units), explained.top_count};
  arrays.add("top_units", top_shape, explained.top_units);
  arrays.add("top_values", Tensor::from<double>(top_shape, explained.top_values));
  arrays.add("received", explained.received);
  arrays.add("entropy", explained.entropy);
  const std::vector<std::int64_t> ids(reading.tokens().ids.begin(), reading.tokens().ids.end());
  arrays.add("ids", {reading.size()}, ids);
  return arrays.npz_bytes();
}

}  // namespace attend::serve
