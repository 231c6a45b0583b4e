#include "lens/lens_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "lens/head_choice.h"
#include "lens/lens_blocks.h"
#include "lens/value_products.h"

namespace attend::lens {
namespace {

// The weights of all chosen heads of a layer, (heads, rows, n).
Tensor weights_of(const Reading::Layer& layer, std::optional<std::int64_t> head_index,
                  std::span<const std::int64_t> rows) {
  RowSelection selection{.rows = std::vector(rows.begin(), rows.end())};
  if (head_index) selection.heads = {*head_index};
  return attention_rows(layer.q, layer.k, layer.options, Stage::weights, selection, layer.state);
}

// out += scale * row, so that what is added has the sum `scale`; zeros add nothing, whatever the others are.
void add_share(std::span<const double> row, double scale, std::span<double> out) {
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  for (std::size_t j = 0; j < row.size(); ++j) out[j] += row[j] == 0 ? 0 : scale / sum * row[j];
}

// One layer's part of a block of rows (rows, n), of which it is the share `scale`.
class LayerLens {
 public:
  LayerLens(const Reading& reading, const LensQuery& query, std::int64_t layer)
      : reading_(reading),
        number_(layer),
        layer_(reading.layer(layer)),
        method_(query.method),
        n_(reading.size()),
        heads_(reading.heads()),
        head_index_(head_index(query.heads)) {
    if (method_ == LensMethod::norm) products_ = value_products(reading, layer, head_index_);
    if (method_ == LensMethod::grad) {
      if (query.gradients == nullptr) refuse("lens", "grad needs the gradients of an output");
      gradient_ = query.gradients->attended.at(static_cast<std::size_t>(layer) - 1);
    }
  }

  bool looks(std::int64_t token) const { return reading_.looking(number_).contains(token); }

  // scales: the share of this layer in each row.
  void add(std::span<const std::int64_t> rows, std::span<const double> scales,
           std::span<double> block) const {
    const Tensor weights = weights_of(layer_, head_index_, rows);
    const std::span<const float> values = weights.values<float>();
    const std::int64_t shown = weights.size(1);
    const auto count = static_cast<std::int64_t>(rows.size());
    std::vector<double> scratch(rows.size() * static_cast<std::size_t>(n_));
    parallel_for(count, [&](std::int64_t r, int) noexcept {
      const double scale = scales[static_cast<std::size_t>(r)];
      const std::span<double> row =
          std::span(scratch).subspan(static_cast<std::size_t>(r * n_), static_cast<std::size_t>(n_));
      const auto weight = [&](std::int64_t h, std::int64_t j) {
        return static_cast<double>(values[static_cast<std::size_t>((h * count + r) * n_ + j)]);
      };
      for (std::int64_t j = 0; j < n_; ++j) {
        row[static_cast<std::size_t>(j)] = method_ == LensMethod::norm ? length(weight, j)
                                           : method_ == LensMethod::grad
                                               ? helped(weight, shown, rows[static_cast<std::size_t>(r)], j)
                                               : sum(weight, shown, j);
      }
      const std::span<double> out =
          block.subspan(static_cast<std::size_t>(r * n_), static_cast<std::size_t>(n_));
      if (method_ == LensMethod::grad) {
        for (std::size_t j = 0; j < row.size(); ++j) out[j] += scale * row[j];
      } else {
        add_share(row, scale, out);
      }
    });
  }

 private:
  template <class Weight>
  static double sum(const Weight& weight, std::int64_t shown, std::int64_t j) {
    double total = 0;
    for (std::int64_t h = 0; h < shown; ++h) total += weight(h, j);
    return total;
  }

  // Of the sum over the heads of weight times projected value.
  template <class Weight>
  double length(const Weight& weight, std::int64_t j) const {
    if (head_index_) {
      const double own = weight(0, j);
      return own == 0 ? 0 : own * std::sqrt(products_.values<double>()[static_cast<std::size_t>(j)]);
    }
    const double* const product = products_.values<double>().data() + j * heads_ * heads_;
    double square = 0;
    for (std::int64_t h = 0; h < heads_; ++h) {
      if (weight(h, j) == 0) continue;  // the value of a key that takes no part may be NaN
      for (std::int64_t g = 0; g < heads_; ++g)
        square += weight(h, j) * weight(g, j) * product[h * heads_ + g];
    }
    return std::sqrt(std::max(square, 0.0));
  }

  // The mean over the heads of weight times gradient, where that is positive.
  template <class Weight>
  double helped(const Weight& weight, std::int64_t shown, std::int64_t i, std::int64_t j) const {
    double total = 0;
    for (std::int64_t h = 0; h < shown; ++h) {
      const std::int64_t head = head_index_.value_or(h), size = layer_.v.size(2);
      const float* const d = gradient_.data<float>() + (i * heads_ + head) * size;
      const std::int64_t key_heads = layer_.v.size(1), key_head = head / (heads_ / key_heads);
      const float* const value = layer_.v.values<float>().data() + (j * key_heads + key_head) * size;
      double slope = 0;
      for (std::int64_t c = 0; c < size; ++c)
        slope += static_cast<double>(d[c]) * static_cast<double>(value[c]);
      const double gain = weight(h, j) == 0 ? 0 : weight(h, j) * slope;
      total += gain < 0 ? 0 : gain;  // NaN stays
    }
    return total / static_cast<double>(shown);
  }

  const Reading& reading_;
  std::int64_t number_;
  const Reading::Layer& layer_;
  const LensMethod method_;
  const std::int64_t n_, heads_;
  const std::optional<std::int64_t> head_index_;
  Tensor products_;
  ConstTensorView gradient_;
};

}  // namespace

void for_each_row(const Reading& reading, const LensQuery& query, std::span<const std::int64_t> rows,
                  const std::function<void(std::size_t, std::span<const double>)>& take) {
  const HeadChoice& heads = query.heads;
  std::vector<LayerLens> layers;
  for (const std::int64_t layer : chosen_layers(reading, heads)) layers.emplace_back(reading, query, layer);
  const std::int64_t n = reading.size();
  const auto block = static_cast<std::size_t>(
      std::max<std::int64_t>(1, kBlockNumbers / (n * (heads.head ? 1 : reading.heads()))));
  std::vector<double> values, scales;
  for (std::size_t first = 0; first < rows.size(); first += block) {
    const auto chosen = rows.subspan(first, std::min(block, rows.size() - first));
    values.assign(chosen.size() * static_cast<std::size_t>(n), 0.0);
    scales.clear();
    for (const std::int64_t row : chosen) {
      const auto looking = std::count_if(layers.begin(), layers.end(),
                                         [&](const LayerLens& layer) { return layer.looks(row); });
      scales.push_back(1.0 / static_cast<double>(std::max<std::int64_t>(1, looking)));
    }
    for (const LayerLens& layer : layers) layer.add(chosen, scales, values);
    for (std::size_t r = 0; r < chosen.size(); ++r)
      take(first + r,
           std::span(values).subspan(r * static_cast<std::size_t>(n), static_cast<std::size_t>(n)));
  }
}

}  // namespace attend::lens
