#include "lens/lens_blocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "lens/head_choice.h"
#include "lens/value_products.h"

namespace attend::lens {
namespace {

constexpr std::int64_t kRowStep = 48;  // queries that one tile of attention_rows() holds with AVX-512
constexpr std::int64_t kStrip = 512;   // keys whose sums, for 12 heads, stay in the L1 cache

// The options for a range of the keys, renumbered from 0.
AttentionOptions for_keys(AttentionOptions options, Range keys) {
  if (options.query_offset.kind() != QueryOffset::Kind::one)
    refuse("lens", "the queries of a text must share one offset");
  options.query_offset = options.query_offset.values().front() - keys.first;
  options.cumulative_key_lengths = {0, keys.size()};
  const auto cut = [&](ConstTensorView& view) {
    const int last = view.rank() - 1;
    if (view.given() && view.size(last) > 1) view = view.slice(last, keys.first, keys.last);
  };
  cut(options.bias);
  cut(options.mask);
  return options;
}

void add_scaled(const float* values, float scale, std::int64_t count, float* out) {
  for (std::int64_t j = 0; j < count; ++j) out[j] += scale * values[j];
}

// The same where the scale may be NaN: elements that are 0 are skipped.
void add_not_finite(const float* values, float scale, std::int64_t count, float* out) {
  for (std::int64_t j = 0; j < count; ++j) out[j] += values[j] == 0 ? 0 : scale * values[j];
}

// Keys that take no part count as 0, although their values may be NaN. `weights` as in measure().
void clear_untouched(const float* weights, std::int64_t head_stride, std::int64_t heads, std::int64_t count,
                     float* lengths) {
  std::uint32_t bad = 0;
  for (std::int64_t j = 0; j < count; ++j) bad |= static_cast<std::uint32_t>(lengths[j] != lengths[j]);
  for (std::int64_t j = 0; bad != 0 && j < count; ++j) {
    bool untouched = true;
    for (std::int64_t h = 0; h < heads; ++h) untouched = untouched && weights[h * head_stride + j] == 0;
    if (untouched) lengths[j] = 0;
  }
}

// The length of what a row takes from each of `count` keys: the root of the sum over pairs of heads (h >= g)
// of w_h w_g times their product. Weights of one head, and products of one pair, are `head_stride` and `n`
// apart.
void measure(const float* weights, std::int64_t head_stride, std::int64_t heads, const float* products,
             std::int64_t n, std::int64_t count, float* lengths) {
  float inner[kStrip];
  std::fill(lengths, lengths + count, 0.0F);
  for (std::int64_t h = 0; h < heads; ++h) {
    const float* const own = weights + h * head_stride;
    std::fill(inner, inner + count, 0.0F);
    for (std::int64_t g = 0; g <= h; ++g, products += n) {
      const float* const other = weights + g * head_stride;
      for (std::int64_t j = 0; j < count; ++j) inner[j] += other[j] * products[j];
    }
    for (std::int64_t j = 0; j < count; ++j) lengths[j] += own[j] * inner[j];
  }
  for (std::int64_t j = 0; j < count; ++j) lengths[j] = std::sqrt(std::max(lengths[j], 0.0F));
}

}  // namespace

Tensor weights_between(const Reading& reading, std::int64_t number, std::optional<std::int64_t> head_index,
                       Range rows, Range keys) {
  const Reading::Layer& layer = reading.layer(number);
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(rows.size()));
  std::iota(chosen.begin(), chosen.end(), rows.first);
  RowSelection selection{.rows = std::move(chosen)};
  if (head_index) selection.heads = {*head_index};
  return attention_rows(layer.q, layer.k.view().slice(0, keys.first, keys.last),
                        for_keys(layer.options, keys), Stage::weights, selection, layer.state);
}

LensBlocks::LensBlocks(const Reading& reading, const LensQuery& query)
    : reading_(reading), method_(query.method), head_index_(head_index(query.heads)) {
  if (method_ != LensMethod::raw && method_ != LensMethod::norm)
    refuse("lens", name_of(method_), " has no blocks, only raw and norm do");
  for (const std::int64_t number : chosen_layers(reading, query.heads)) layers_.push_back({.number = number});
}

std::size_t LensBlocks::bytes() const noexcept {
  std::size_t numbers = 0;
  for (const Layer& layer : layers_) numbers += layer.products.size() + layer.sums.size();
  return numbers * sizeof(float);
}

void LensBlocks::fill(Range rows, Range keys, std::span<float> out) {
  const std::int64_t heads = head_index_ ? 1 : reading_.heads();
  const std::int64_t room = kBlockNumbers / std::max<std::int64_t>(1, keys.size() * heads);
  const std::int64_t step = std::max(kRowStep, room / kRowStep * kRowStep);
  for (std::int64_t first = rows.first; first < rows.last; first += step) {
    const Range some{first, std::min(first + step, rows.last)};
    fill_some(some, keys,
              out.subspan(static_cast<std::size_t>((first - rows.first) * keys.size()),
                          static_cast<std::size_t>(some.size() * keys.size())));
  }
}

void LensBlocks::fill_some(Range rows, Range keys, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (Layer& layer : layers_) {
    if (method_ == LensMethod::norm) {
      prepare(layer);
      if (keys.size() < reading_.size()) require_sums(layer, rows);
    }
    add(layer, rows, keys, out);
  }
}

void LensBlocks::prepare(Layer& layer) const {
  if (!layer.sums.empty()) return;
  const std::int64_t n = reading_.size(), heads = reading_.heads();
  const Tensor all = value_products(reading_, layer.number, head_index_);
  const double* const products = all.values<double>().data();
  const std::int64_t lines = head_index_ ? 1 : heads * (heads + 1) / 2;
  layer.products.resize(static_cast<std::size_t>(lines * n));
  parallel_for(n, [&](std::int64_t j, int) noexcept {
    float* out = layer.products.data() + j;
    if (head_index_) {
      *out = static_cast<float>(std::sqrt(products[j]));
      return;
    }
    const double* const own = products + j * heads * heads;
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t g = 0; g <= h; ++g, out += n)
        *out = static_cast<float>((g < h ? 2 : 1) * own[h * heads + g]);
    }
  });
  layer.sums.assign(static_cast<std::size_t>(n), -1.0F);
}

// Rows whose sums are not known yet are computed in full, once.
void LensBlocks::require_sums(Layer& layer, Range rows) {
  const auto known = layer.sums.begin();
  if (std::all_of(known + rows.first, known + rows.last, [](float sum) { return !(sum < 0); })) return;
  const std::int64_t n = reading_.size();
  std::vector<float> whole(static_cast<std::size_t>(kRowStep * n));
  for (std::int64_t first = rows.first; first < rows.last; first += kRowStep) {
    const Range some{first, std::min(first + kRowStep, rows.last)};
    add(layer, some, {0, n}, std::span(whole).first(static_cast<std::size_t>(some.size() * n)));
  }
}

// Adds one layer's share of the map.
void LensBlocks::add(Layer& layer, Range rows, Range keys, std::span<float> out) {
  const Tensor weights = weights_between(reading_, layer.number, head_index_, rows, keys);
  const float* const all = weights.values<float>().data();
  const std::int64_t heads = head_index_ ? 1 : reading_.heads(), n = reading_.size(), width = keys.size();
  const std::int64_t head_stride = rows.size() * width;
  const auto share_of = [&](std::int64_t token) {
    const auto looking = std::count_if(layers_.begin(), layers_.end(), [&](const Layer& other) {
      return reading_.looking(other.number).contains(token);
    });
    return 1.0F / static_cast<float>(std::max<std::int64_t>(1, looking));
  };
  const int lanes = lanes_for(rows.size());
  std::vector<float> scratch(method_ == LensMethod::norm ? static_cast<std::size_t>(lanes * width) : 0);
  parallel_for(rows.size(), lanes, [&](std::int64_t r, int lane) noexcept {
    const float share = share_of(rows.first + r);
    const float* const row = all + r * width;
    float* const target = out.data() + r * width;
    if (method_ == LensMethod::raw) {
      const float scale = share / static_cast<float>(heads);
      for (std::int64_t h = 0; h < heads; ++h) add_scaled(row + h * head_stride, scale, width, target);
      return;
    }
    float* const lengths = scratch.data() + lane * width;
    const float* const products = layer.products.data() + keys.first;
    if (head_index_) {
      for (std::int64_t j = 0; j < width; ++j) lengths[j] = row[j] * products[j];
    } else {
      for (std::int64_t first = 0; first < width; first += kStrip) {
        measure(row + first, head_stride, heads, products + first, n, std::min(kStrip, width - first),
                lengths + first);
      }
    }
    clear_untouched(row, head_stride, heads, width, lengths);
    float& sum = layer.sums[static_cast<std::size_t>(rows.first + r)];
    if (sum < 0) sum = static_cast<float>(std::accumulate(lengths, lengths + width, 0.0));  // of all keys
    if (std::isfinite(sum) && sum > 0) add_scaled(lengths, share / sum, width, target);
    if (!std::isfinite(sum)) add_not_finite(lengths, share / sum, width, target);
  });
}

}  // namespace attend::lens
