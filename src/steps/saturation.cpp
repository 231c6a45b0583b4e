#include "steps/saturation.h"

#include <attend/reference.h>
#include <attend/softmax.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "draw/plot_terminal.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "steps/narrate.h"

namespace attend::steps {
namespace {

constexpr std::int64_t kKeys = 16;
constexpr int kTrials = 63;  // odd, so that the median is one of them
constexpr int kSmallest = 4, kLargest = 4096;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double standard_deviation(std::span<const double> values) {
  double mean = 0, square = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) square += (value - mean) * (value - mean);
  return std::sqrt(square / static_cast<double>(values.size()));
}

// One column of the Jacobian for each weight, by the library's own backward pass.
double gradient_size(const Tensor& weights) {
  Tensor d_weights(DType::f64, {kKeys, kKeys}), d_scores(DType::f64, {kKeys, kKeys}),
      rows(DType::f64, {kKeys, kKeys});
  for (std::int64_t i = 0; i < kKeys; ++i) {
    d_weights.values<double>()[static_cast<std::size_t>(i * kKeys + i)] = 1;
    copy(weights, rows.view().select(0, i));
  }
  reference::softmax_backward(rows, d_weights, d_scores);
  double square = 0;
  for (const double value : d_scores.values<double>()) square += value * value;
  return std::sqrt(square);
}

// The dot products of one random query with its keys.
Tensor random_scores(int d, int trial) {
  const auto seed = static_cast<std::uint64_t>(d) * 1000 + static_cast<std::uint64_t>(trial);
  const auto size = static_cast<std::uint64_t>(d);
  Tensor scores(DType::f64, {kKeys});
  for (std::uint64_t j = 0; j < kKeys; ++j) {
    for (std::uint64_t c = 0; c < size; ++c) {
      scores.values<double>()[j] += normal_at(seed, c) * normal_at(seed, (j + 1) * size + c);
    }
  }
  return scores;
}

}  // namespace

std::vector<SaturationRow> measure_saturation() {
  std::vector<SaturationRow> rows;
  for (int d = kSmallest; d <= kLargest; d *= 2) {
    std::vector<double> spread[2], largest[2], gradient[2];
    for (int trial = 0; trial < kTrials; ++trial) {
      const Tensor products = random_scores(d, trial);
      for (const int scaled : {0, 1}) {
        Tensor scores = copy_of(products), weights(DType::f64, {kKeys});
        if (scaled == 1) {
          for (double& score : scores.values<double>()) score /= std::sqrt(static_cast<double>(d));
        }
        softmax(scores, weights);
        const auto values = weights.values<double>();
        spread[scaled].push_back(standard_deviation(scores.values<double>()));
        largest[scaled].push_back(*std::max_element(values.begin(), values.end()));
        gradient[scaled].push_back(gradient_size(weights));
      }
    }
    const auto summary = [&](int scaled) {
      return Saturation{median(spread[scaled]), median(largest[scaled]), median(gradient[scaled])};
    };
    rows.push_back({d, summary(0), summary(1)});
  }
  return rows;
}

std::string narrate_saturation(const std::vector<SaturationRow>& rows, const draw::Terminal& terminal) {
  draw::Table table;
  table.label_header = "d";
  table.columns = {{"score spread"}, {"top weight"}, {"gradient"},
                   {"÷√d: spread"},  {"top weight"}, {"gradient"}};
  draw::Plot plot;
  plot.title = "gradient through softmax";
  plot.x = {"d", draw::AxisScale::log2};
  plot.y = {"", draw::AxisScale::log10};
  plot.series = {{"without 1/√d", {}, {}}, {"with 1/√d", {}, {}}};
  const auto cell = [](double value) { return draw::format_short(value, 3); };
  for (const auto& [d, unscaled, scaled] : rows) {
    table.rows.push_back({std::to_string(d),
                          {cell(unscaled.spread), cell(unscaled.largest), cell(unscaled.gradient),
                           cell(scaled.spread), cell(scaled.largest), cell(scaled.gradient)}});
    plot.series[0].x.push_back(d), plot.series[0].y.push_back(unscaled.gradient);
    plot.series[1].x.push_back(d), plot.series[1].y.push_back(scaled.gradient);
  }
  draw::Terminal inner = terminal;
  inner.width = std::max(terminal.width - 2, 20);
  draw::Terminal narrow = inner;
  narrow.width = std::min(inner.width, 78);
  return heading("Softmax and its gradient as d grows", terminal) +
         draw::indent(paragraph("Random queries and keys, " + std::to_string(kKeys) +
                                    " keys to a row; medians of " + std::to_string(kTrials) +
                                    " rows. Left the bare dot products, right divided by √d:",
                                inner),
                      2) +
         draw::indent(draw::render_table(table, inner), 2) + "\n" +
         draw::indent(draw::render_plot(plot, narrow), 2) + "\n";
}

}  // namespace attend::steps
