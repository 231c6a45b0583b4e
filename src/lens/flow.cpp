#include "lens/flow.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/interrupt.h"
#include "lens/lens_rows.h"
#include "lens/max_flow.h"
#include "lens/rollout.h"

namespace attend::lens {
namespace {

// Node (layer, token); layer 0 is the input. After them comes one node for the target of the search.
class Pipes {
 public:
  Pipes(const Reading& reading, std::int64_t layers) : n_(static_cast<std::int32_t>(reading.size())) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(n_));
    std::iota(all.begin(), all.end(), 0);
    for (std::int64_t layer = 1; layer <= layers; ++layer) {
      const LensQuery mean{.method = LensMethod::raw, .heads = {.layer = layer}};
      for_each_row(reading, mean, all, [&](std::size_t i, std::span<const double> weights) {
        const auto query = static_cast<std::int32_t>(i);
        const double stays = reading.looking(layer).contains(query) ? 0.5 : 1;
        for (std::int32_t key = 0; key < n_; ++key) {
          const double capacity = 0.5 * weights[static_cast<std::size_t>(key)] + (query == key ? stays : 0);
          finite_ = finite_ && std::isfinite(capacity);
          if (capacity > 0) edges_.push_back({node(layer, query), node(layer - 1, key), capacity});
        }
      });
    }
    sink_ = node(layers + 1, 0);
  }

  // From one token of the last layer down to the input tokens [first, last) together.
  double most(std::int64_t layer, std::int64_t token, std::int64_t first, std::int64_t last) const {
    if (!finite_) return std::numeric_limits<double>::quiet_NaN();
    FlowNetwork network(sink_ + 1);
    for (const Edge& edge : edges_) network.add_pipe(edge.from, edge.to, edge.capacity);
    constexpr double kWideOpen = 1e9;
    for (std::int64_t key = first; key < last; ++key)
      network.add_pipe(node(0, static_cast<std::int32_t>(key)), sink_, kWideOpen);
    return network.max_flow(node(layer, static_cast<std::int32_t>(token)), sink_);
  }

 private:
  struct Edge {
    std::int32_t from, to;
    double capacity;
  };
  std::int32_t node(std::int64_t layer, std::int32_t token) const {
    return static_cast<std::int32_t>(layer) * n_ + token;
  }
  std::int32_t n_, sink_ = 0;
  bool finite_ = true;  // a pipe of unknown size may carry anything
  std::vector<Edge> edges_;
};

}  // namespace

std::vector<double> flow_row(const Reading& reading, const LensQuery& query, std::span<const Word> units,
                             std::size_t unit) {
  if (reading.size() > kMostFlowTokens) {
    refuse("lens", "flow is for texts of up to ", kMostFlowTokens, " tokens, but this one has ",
           reading.size());
  }
  const std::int64_t layers = path_layers(reading, query);
  const Pipes pipes(reading, layers);
  const Word& asked = units[unit];
  std::vector<double> row;
  for (const Word& from : units) {
    double sum = 0;
    for (std::int64_t token = asked.first_token; token < asked.last_token; ++token) {
      interruption_point();
      sum += pipes.most(layers, token, from.first_token, from.last_token);
    }
    row.push_back(sum / static_cast<double>(asked.last_token - asked.first_token));
  }
  return row;
}

}  // namespace attend::lens
