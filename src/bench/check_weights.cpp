#include "bench/check_weights.h"

#include <attend/reference.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "bench/check.h"

namespace attend::bench {
namespace {

constexpr double kWeightsBound = 1e-5;
constexpr double kWeightBound = 1e-4;  // relative to the weight, which may itself be 1e-5
constexpr std::int64_t kSamples = 8;

struct Checker {
  const std::string& what;
  const Inputs& inputs;
  double error = 0;

  void close(const char* part, double got, double expected, double bound = kWeightsBound) {
    error = std::max(error, require_close(what + ", " + part, Tensor::from<double>({1}, {got}),
                                          Tensor::from<double>({1}, {expected}), bound));
  }

  // The weights of sampled rows of one head, (1, 1, rows, Lk), f64.
  Tensor weights_of(std::int64_t sequence, std::int64_t head, std::vector<std::int64_t> rows) const {
    return reference::attention_rows(inputs.q, inputs.k, {}, Stage::weights,
                                     {.sequences = {sequence}, .heads = {head}, .rows = std::move(rows)});
  }

  void row_state(const SampledRow& row, ConstRowStateView state) {
    const std::int64_t kv_head = row.head / (inputs.q.size(1) / inputs.k.size(1));
    const auto head = [](const Tensor& x, std::int64_t b, std::int64_t h) {
      return x.view().slice(0, b, b + 1).slice(1, h, h + 1);
    };
    const ConstTensorView v = head(inputs.v, row.sequence, kv_head);
    Tensor out(DType::f64, {1, 1, 1, v.size(3)}), max(DType::f64, {1, 1, 1}), sum(DType::f64, {1, 1, 1});
    reference::attention(head(inputs.q, row.sequence, row.head).slice(2, row.query, row.query + 1),
                         head(inputs.k, row.sequence, kv_head), v, {}, out, {max, sum});
    const auto at = [&](ConstTensorView x) {
      return static_cast<double>(x.select(0, row.sequence).select(0, row.head).data<float>()[row.query]);
    };
    close("row maximum", at(state.max), max.values<double>()[0]);
    close("row sum", at(state.sum), sum.values<double>()[0], kWeightsBound * sum.values<double>()[0]);
  }

  void top(const SampledRow& row, const std::vector<double>& weights, const WeightsSummary& summary) {
    std::vector<double> sorted = weights;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const auto keys =
        summary.top_keys.view().select(0, row.sequence).select(0, row.head).select(0, row.query);
    const auto found =
        summary.top_weights.view().select(0, row.sequence).select(0, row.head).select(0, row.query);
    for (std::int64_t i = 0; i < keys.size(0); ++i) {
      const std::int64_t key = keys.data<std::int64_t>()[i];
      if (key < 0 || key >= static_cast<std::int64_t>(weights.size())) {
        throw WrongAnswer(what + ", top keys: there is no key " + std::to_string(key));
      }
      const double expected = sorted[static_cast<std::size_t>(i)];
      close("top weights", static_cast<double>(found.data<float>()[i]), expected, kWeightBound * expected);
      close("top keys", weights[static_cast<std::size_t>(key)], expected, kWeightBound * expected);
    }
  }

  void entropy(const SampledRow& row, const std::vector<double>& weights, const Tensor& entropies) {
    double expected = 0;
    for (const double w : weights) expected -= w > 0 ? w * std::log(w) : 0;
    const auto got = entropies.view().select(0, row.sequence).select(0, row.head).data<float>()[row.query];
    close("entropy", static_cast<double>(got), expected, kWeightsBound * std::max(1.0, expected));
  }

  // What sampled keys of one head receive.
  void received(std::int64_t sequence, std::int64_t head, const Tensor& all, ConstRowStateView state) {
    const std::int64_t d = inputs.q.size(3), keys = inputs.k.size(2), queries = inputs.q.size(2);
    const auto of_head = [&](const Tensor& x, std::int64_t h) {
      return x.view().select(0, sequence).select(0, h);
    };
    const Tensor q = copy_of(of_head(inputs.q, head), DType::f64);
    const Tensor k = copy_of(of_head(inputs.k, head / (inputs.q.size(1) / inputs.k.size(1))), DType::f64);
    const float* const max = state.max.select(0, sequence).select(0, head).data<float>();
    const float* const sum = state.sum.select(0, sequence).select(0, head).data<float>();
    for (std::int64_t s = 0; s < kSamples; ++s) {
      const std::int64_t key = s * (keys - 1) / (kSamples - 1);
      double expected = 0;
      for (std::int64_t i = 0; i < queries; ++i) {
        double score = 0;
        for (std::int64_t c = 0; c < d; ++c) {
          score += q.values<double>()[static_cast<std::size_t>(i * d + c)] *
                   k.values<double>()[static_cast<std::size_t>(key * d + c)];
        }
        expected += std::exp(score / std::sqrt(static_cast<double>(d)) - static_cast<double>(max[i])) /
                    static_cast<double>(sum[i]);
      }
      const auto got = all.view().select(0, sequence).select(0, head).data<float>()[key];
      close("attention received", static_cast<double>(got), expected,
            kWeightsBound * std::max(1.0, expected));
    }
  }

  // One row of cells of the map.
  void map(std::int64_t sequence, std::int64_t head, std::int64_t cell_row, const WeightsRequest& request,
           const Tensor& all) {
    const auto range = [](std::int64_t cell, std::int64_t length, std::int64_t cells) {
      const std::int64_t first = cell * length / cells;
      return std::pair(first, std::max(first + 1, (cell + 1) * length / cells));
    };
    const auto [first, last] = range(cell_row, inputs.q.size(2), request.map_rows);
    std::vector<std::int64_t> rows;
    for (std::int64_t i = first; i < last; ++i) rows.push_back(i);
    const Tensor weights = weights_of(sequence, head, rows);
    const std::int64_t keys = weights.size(3);
    const ConstTensorView cells = all.view().select(0, sequence).select(0, head).select(0, cell_row);
    for (std::int64_t c = 0; c < request.map_columns; ++c) {
      const auto [left, right] = range(c, keys, request.map_columns);
      double total = 0, largest = 0;
      for (std::int64_t i = 0; i < last - first; ++i) {
        for (std::int64_t j = left; j < right; ++j) {
          const double w = weights.values<double>()[static_cast<std::size_t>(i * keys + j)];
          total += w;
          largest = std::max(largest, w);
        }
      }
      const double mean = total / static_cast<double>((last - first) * (right - left));
      const double expected = request.map_reduction == MapReduction::max ? largest : mean;
      close("map", static_cast<double>(cells.data<float>()[c]), expected, kWeightBound * expected);
    }
  }
};

}  // namespace

double check_weights(const std::string& what, const Inputs& inputs, const WeightsRequest& request,
                     const WeightsSummary& summary, ConstRowStateView row_state) {
  Checker checker{what, inputs};
  const Shape shape = {inputs.q.size(0), inputs.q.size(1), inputs.k.size(1),
                       inputs.q.size(2), inputs.k.size(2), inputs.q.size(3)};
  for (const SampledRow& row : sample_rows(shape)) {
    const Tensor rows = checker.weights_of(row.sequence, row.head, {row.query});
    const std::vector<double> weights(rows.values<double>().begin(), rows.values<double>().end());
    checker.row_state(row, row_state);
    if (request.top_k > 0) checker.top(row, weights, summary);
    if (request.entropy) checker.entropy(row, weights, summary.entropy);
  }
  const std::int64_t last_sequence = shape.b - 1, last_head = shape.hq - 1;
  if (request.received) {
    checker.received(0, 0, summary.received, row_state);
    checker.received(last_sequence, last_head, summary.received, row_state);
  }
  if (request.map_rows > 0) {
    checker.map(0, 0, 0, request, summary.map);
    checker.map(last_sequence, last_head, request.map_rows / 2, request, summary.map);
    checker.map(last_sequence, last_head, request.map_rows - 1, request, summary.map);
  }
  return checker.error;
}

}  // namespace attend::bench
