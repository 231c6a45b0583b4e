// Summaries of the weights in float64, row by row, beside their definitions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_reference.h"
#include "kernels/attention/weights.h"

namespace attend::kernels {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The next best after (score, key), in the order of falling score and rising key; -1 when there is none.
std::int64_t next_best(const double* biased, std::int64_t keys, double score, std::int64_t key) noexcept {
  std::int64_t best = -1;
  for (std::int64_t j = 0; j < keys; ++j) {
    if (biased[j] == kMinusInfinity<double> || biased[j] > score || (biased[j] == score && j <= key))
      continue;
    if (best < 0 || biased[j] > biased[best]) best = j;
  }
  return best;
}

void top_keys(const double* biased, std::int64_t keys, RowStatistics row, std::int64_t top_k,
              std::int64_t* top, double* weights) noexcept {
  const bool no_order = std::isnan(row.sum);
  double score = std::numeric_limits<double>::infinity();
  std::int64_t key = no_order ? -1 : next_best(biased, keys, score, -1);
  for (std::int64_t i = 0; i < top_k; ++i) {
    top[i] = key;
    weights[i] = no_order ? kNaN : key < 0 ? 0 : weight_reference(biased[key], row);
    if (key < 0) continue;
    score = biased[key];
    key = next_best(biased, keys, score, key);
  }
}

// Adds the weights of one row to the cells of its row of the map.
void map_row(const double* weights, const SummaryTarget<double>& target, double* cells) noexcept {
  for (std::int64_t c = 0; c < target.columns.count; ++c) {
    for (std::int64_t j = target.columns.begin(c); j < target.columns.end(c); ++j) {
      cells[c] = target.map_is_max ? larger(cells[c], weights[j]) : cells[c] + weights[j];
    }
  }
}

}  // namespace

void summarize_reference(const Head<double>& head, const RowStateInput<double>& state, std::int64_t first,
                         std::int64_t last, const SummaryTarget<double>& target, double* scratch) noexcept {
  double* const row = scratch;  // biased scores, then weights
  for (std::int64_t i = first; i < last; ++i) {
    RowStatistics statistics = biased_row_reference(head, i, row);
    if (state.max != nullptr) statistics = {state.max[i * state.max_stride], state.sum[i * state.sum_stride]};
    if (target.top_k > 0) {
      top_keys(row, head.keys, statistics, target.top_k, target.top_keys + i * target.top_stride,
               target.top_weights + i * target.top_stride);
    }
    double nats = 0;
    for (std::int64_t j = 0; j < head.keys; ++j) {
      row[j] = weight_reference(row[j], statistics);
      if (row[j] != 0) nats -= row[j] * std::log(row[j]);
      if (target.received != nullptr) target.received[j] += row[j];
    }
    if (target.entropy != nullptr) target.entropy[i * target.entropy_stride] = nats;
    if (target.map != nullptr) {
      map_row(row, target, target.map + (target.rows.holding(i) - target.first_cell) * target.columns.count);
    }
  }
}

}  // namespace attend::kernels
