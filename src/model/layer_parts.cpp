// A layer taken apart. It composes the same functions as layer.cpp, but keeps what each part adds, which a
// pass never has by itself; tests compare the stream that comes out with that of the pass.
#include <attend/add.h>
#include <attend/transformer.h>

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/counting.h"
#include "model/layer_math.h"
#include "model/transformer_parts.h"

namespace attend {

using namespace model;

namespace {

// A norm whose statistics are those of one vector: then it is linear, up to its bias.
class FixedNorm {
 public:
  FixedNorm(const NormDescription& norm, const NormWeights& weights, std::span<const float> x)
      : centred_(norm.kind == NormKind::layer), gamma_(copy_of(weights.gamma, DType::f64)) {
    if (weights.beta.given()) beta_ = copy_of(weights.beta, DType::f64);
    const auto n = static_cast<double>(x.size());
    const double mean = centred_ ? std::accumulate(x.begin(), x.end(), 0.0) / n : 0;
    double squares = 0;
    for (const float value : x)
      squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
    divisor_ = std::sqrt(squares / n + norm.epsilon);
  }

  void apply(std::span<float> x) const {
    const std::span<const double> gamma = gamma_.values<double>();
    const double mean =
        centred_ ? std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()) : 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>((static_cast<double>(x[i]) - mean) / divisor_ * gamma[i]);
  }

  Transformer::HeldNorm along(std::span<const double> direction) const {
    const std::span<const double> gamma = gamma_.values<double>();
    Transformer::HeldNorm held{.slope = {direction.begin(), direction.end()}};
    for (std::size_t i = 0; i < direction.size(); ++i) held.slope[i] *= gamma[i] / divisor_;
    if (centred_) {
      const double mean =
          std::accumulate(held.slope.begin(), held.slope.end(), 0.0) / static_cast<double>(direction.size());
      for (double& value : held.slope) value -= mean;
    }
    if (beta_.count() > 0) {
      const std::span<const double> beta = beta_.values<double>();
      held.constant = std::inner_product(direction.begin(), direction.end(), beta.begin(), 0.0);
    }
    return held;
  }

 private:
  bool centred_;
  Tensor gamma_, beta_;
  double divisor_ = 1;
};

std::span<float> float_row(Tensor& rows, std::int64_t row, std::int64_t size) {
  return rows.values<float>().subspan(static_cast<std::size_t>(row * size), static_cast<std::size_t>(size));
}

// What each head adds to the stream, (rows, H, E): its part of the output projection.
Tensor projected_heads(const AttentionDescription& attention, const LinearWeights& out,
                       ConstTensorView attended, std::int64_t e) {
  const std::int64_t rows = attended.size(0), h = attention.heads, d = attention.head_size;
  Tensor apart(DType::f32, {rows * h, h * d}), heads(DType::f32, {rows, h, e});
  const TensorView each = apart.view().split(1, h, d).split(0, rows, h);  // (rows, H, H, D), zeros
  for (std::int64_t i = 0; i < h; ++i) copy(attended.select(1, i), each.select(1, i).select(1, i));
  out.matrix.multiply(apart, heads.view().with_layout({rows * h, e}, {e, 1}));
  return heads;
}

}  // namespace

LayerParts Transformer::layer_parts(std::int64_t number, ConstTensorView stream,
                                    ConstTensorView attended) const {
  const ModelDescription& model = description();
  require_number("layer_parts", "layer", number, model.layer_count());
  const LayerDescription& layer = model.layer(number);
  const LayerWeights& weights = parts_->weights.layer(number - 1);
  const AttentionDescription& attention = layer.attention;
  const std::int64_t e = model.hidden_size, rows = stream.size(0);
  require_shape("layer_parts", {"stream", stream}, {rows, e});
  require_shape("layer_parts", {"attended", attended}, {rows, attention.heads, attention.head_size});
  const NormPlace place = layer.norm.place;
  const bool reads = reads_norm(place), of_sum = place == NormPlace::after;
  const bool of_part = place == NormPlace::around || place == NormPlace::inside;

  // What a part reads, and the stream after it has added to it.
  const auto input = [&](bool norm, const NormWeights& of, ConstTensorView x) {
    Tensor read = copy_of(x, DType::f32);
    if (norm) normalise(layer.norm, of, read, read);
    return read;
  };
  const auto sum = [&](ConstTensorView x, const Tensor& part, const NormWeights& norm) {
    Tensor total(DType::f32, {rows, e});
    add(x, part, total);
    if (of_sum) normalise(layer.norm, norm, total, total);
    return total;
  };

  LayerParts parts;
  parts.attention_input = input(reads && layer.attention_norm, weights.attention_norm, stream);
  parts.heads = projected_heads(attention, weights.out, attended, e);
  parts.attention = Tensor(DType::f32, {rows, e});
  const Tensor gathered = copy_of(attended, DType::f32);
  const std::int64_t columns = query_columns(attention);
  weights.out.apply(gathered.view().with_layout({rows, columns}, {columns, 1}), parts.attention);
  if (of_part) {
    const NormWeights& own = place == NormPlace::around ? weights.attention_out_norm : weights.attention_norm;
    for (std::int64_t row = 0; row < rows; ++row) {
      const FixedNorm fixed(layer.norm, own, float_row(parts.attention, row, e));
      for (std::int64_t h = 0; h < attention.heads; ++h)
        fixed.apply(float_row(parts.heads, row * attention.heads + h, e));
    }
    normalise(layer.norm, own, parts.attention, parts.attention);
  }
  parts.middle = sum(stream, parts.attention, weights.attention_norm);
  if (!layer.feed_forward) {
    parts.out = copy_of(parts.middle);
    return parts;
  }

  const FeedForwardDescription& feed = *layer.feed_forward;
  parts.feed_forward_input = input(reads, weights.feed_forward_norm, feed.parallel ? stream : parts.middle);
  Tensor product(DType::f32, {rows, product_size(feed)}), inner(DType::f32, {rows, feed.size});
  weights.up.apply(parts.feed_forward_input, product);
  activate(feed, product, inner);
  parts.feed_forward = Tensor(DType::f32, {rows, e});
  weights.down.apply(inner, parts.feed_forward);
  if (of_part) {
    const NormWeights& own =
        place == NormPlace::around ? weights.feed_forward_out_norm : weights.feed_forward_norm;
    normalise(layer.norm, own, parts.feed_forward, parts.feed_forward);
  }
  parts.out = sum(parts.middle, parts.feed_forward, weights.feed_forward_norm);
  return parts;
}

Transformer::HeldNorm Transformer::held_final_norm(ConstTensorView stream,
                                                   std::span<const double> direction) const {
  const ModelDescription& model = description();
  require_shape("held_final_norm", {"stream", stream}, {model.hidden_size});
  if (static_cast<std::int64_t>(direction.size()) != model.hidden_size)
    refuse("held_final_norm", "direction has ", direction.size(), " numbers, expected ", model.hidden_size);
  if (!model.final_norm) return {.slope = {direction.begin(), direction.end()}};
  const Tensor x = copy_of(stream, DType::f32);
  return FixedNorm(*model.final_norm, parts_->weights.final_norm.view(), x.values<float>()).along(direction);
}

}  // namespace attend
