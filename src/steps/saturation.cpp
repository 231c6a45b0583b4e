#include "steps/saturation.h"

#include <attend/reference.h>
#include <attend/softmax.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "draw/plot_terminal.h"
#include "draw/prose.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "steps/narrate.h"

namespace attend::steps {
namespace {

constexpr std::int64_t kSaturationKeys = 16;  // per row
constexpr int kTrials = 512;                  // rows; with a tenth as many the medians at large d are noisy
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
  Tensor d_weights(DType::f64, {kSaturationKeys, kSaturationKeys}),
      d_scores(DType::f64, {kSaturationKeys, kSaturationKeys}),
      rows(DType::f64, {kSaturationKeys, kSaturationKeys});
  for (std::int64_t i = 0; i < kSaturationKeys; ++i) {
    d_weights.values<double>()[static_cast<std::size_t>(i * kSaturationKeys + i)] = 1;
    copy(weights, rows.view().select(0, i));
  }
  reference::softmax_backward(rows, d_weights, d_scores);
  double square = 0;
  for (const double value : d_scores.values<double>()) square += value * value;
  return std::sqrt(square);
}

// Random queries against random keys, as many of each: the dot products of their first d elements.
class RandomScores {
 public:
  explicit RandomScores(std::uint64_t seed)
      : seed_(seed), products_(DType::f64, {kSaturationKeys, kSaturationKeys}) {}

  // d may only grow. (queries, keys)
  const Tensor& first(int d) {
    for (; done_ < d; ++done_) {
      const auto place = static_cast<std::uint64_t>(done_) * 2 * kSaturationKeys;
      double query[kSaturationKeys], key[kSaturationKeys];
      for (std::uint64_t i = 0; i < kSaturationKeys; ++i) {
        query[i] = normal_at(seed_, place + i);
        key[i] = normal_at(seed_, place + kSaturationKeys + i);
      }
      for (std::size_t i = 0; i < kSaturationKeys * kSaturationKeys; ++i) {
        products_.values<double>()[i] += query[i / kSaturationKeys] * key[i % kSaturationKeys];
      }
    }
    return products_;
  }

 private:
  std::uint64_t seed_;
  int done_ = 0;
  Tensor products_;
};

struct Samples {
  std::vector<double> spread, largest, gradient;

  void add(const Tensor& scores) {
    Tensor weights(DType::f64, {kSaturationKeys});
    softmax(scores, weights);
    const auto values = weights.values<double>();
    spread.push_back(standard_deviation(scores.values<double>()));
    largest.push_back(*std::max_element(values.begin(), values.end()));
    gradient.push_back(gradient_size(weights));
  }
  Saturation medians() const { return {median(spread), median(largest), median(gradient)}; }
};

void add_cells(const Saturation& values, draw::TableRow& row) {
  for (const double value : {values.spread, values.largest, values.gradient}) {
    row.cells.push_back(draw::format_short(value, 3));
  }
}

// Both kinds of scores side by side, or one below the other where that is too wide.
std::string tables(const std::vector<SaturationRow>& rows, const draw::Terminal& terminal) {
  const std::vector<draw::TableColumn> three = {{"spread"}, {"top weight"}, {"gradient"}};
  draw::Table both{"", "d", three, {}}, left{"The bare dot products", "d", three, {}},
      right{"Divided by √d", "d", three, {}};
  both.columns.insert(both.columns.end(), {{"÷√d: spread"}, {"top weight"}, {"gradient"}});
  for (const SaturationRow& row : rows) {
    const std::string d = std::to_string(row.d);
    add_cells(row.unscaled, left.rows.emplace_back(draw::TableRow{d, {}}));
    add_cells(row.scaled, right.rows.emplace_back(draw::TableRow{d, {}}));
    add_cells(row.unscaled, both.rows.emplace_back(draw::TableRow{d, {}}));
    add_cells(row.scaled, both.rows.back());
  }
  const std::string side_by_side = draw::render_table(both, terminal);
  if (side_by_side.find("…") == std::string::npos) return side_by_side;
  return draw::render_table(left, terminal) + "\n" + draw::render_table(right, terminal);
}

}  // namespace

std::vector<SaturationRow> measure_saturation() {
  std::vector<RandomScores> groups;
  for (std::uint64_t seed = 0; seed < kTrials / kSaturationKeys; ++seed) groups.emplace_back(seed);
  std::vector<SaturationRow> rows;
  for (int d = kSmallest; d <= kLargest; d *= 2) {
    Samples unscaled, scaled;
    for (RandomScores& group : groups) {
      const Tensor& products = group.first(d);
      for (std::int64_t query = 0; query < kSaturationKeys; ++query) {
        Tensor scores = copy_of(products.view().select(0, query));
        unscaled.add(scores);
        for (double& score : scores.values<double>()) score /= std::sqrt(static_cast<double>(d));
        scaled.add(scores);
      }
    }
    rows.push_back({d, unscaled.medians(), scaled.medians()});
  }
  return rows;
}

draw::Plot saturation_plot(const std::vector<SaturationRow>& rows) {
  draw::Plot plot;
  plot.title = "The gradient through softmax";
  plot.x = {"d", draw::AxisScale::log2};
  plot.y = {"", draw::AxisScale::log10};
  plot.series = {{"without 1/√d", {}, {}}, {"with 1/√d", {}, {}}};
  for (const auto& [d, unscaled, scaled] : rows) {
    plot.series[0].x.push_back(d), plot.series[0].y.push_back(unscaled.gradient);
    plot.series[1].x.push_back(d), plot.series[1].y.push_back(scaled.gradient);
  }
  return plot;
}

std::string narrate_saturation(const std::vector<SaturationRow>& rows, const draw::Terminal& terminal) {
  const draw::Plot plot = saturation_plot(rows);
  draw::Terminal inner = terminal;
  inner.width = terminal.width - 2;
  draw::Terminal narrow = inner;
  narrow.width = std::min(inner.width, 78);
  return draw::heading("Softmax and its gradient as d grows", terminal) +
         draw::indent(
             draw::paragraph("Random queries and keys, " + std::to_string(kSaturationKeys) +
                                 " keys per row; medians of " + std::to_string(kTrials) +
                                 " rows: how far the scores spread, the largest weight, the gradient through "
                                 "softmax; first for the bare dot products, then divided by √d.",
                             inner),
             2) +
         draw::indent(tables(rows, inner), 2) + "\n" + draw::indent(draw::render_plot(plot, narrow), 2) +
         "\n";
}

}  // namespace attend::steps
