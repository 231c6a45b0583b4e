#include "model/float64_transformer.h"

#include <attend/positions.h>

#include <cmath>
#include <numbers>

#include "model/weights.h"
#include "support/compare.h"

namespace attend {
namespace {

double activated(double x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return x * (1 + std::erf(x / std::numbers::sqrt2)) / 2;
    case Activation::gelu_tanh:
      return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) / 2;
  }
  return x;
}

void add_to(Matrix& x, const Matrix& other) {
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] += other.values[i];
}

Matrix columns_of(const Matrix& x, std::int64_t begin, std::int64_t end) {
  Matrix part(x.rows, end - begin);
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = begin; j < end; ++j) part.at(i, j - begin) = x.at(i, j);
  return part;
}

// How many positions pair i takes to turn by one radian, of `pairs` of them, in a text of n tokens.
double radian(const Rotary& rotary, std::int64_t i, std::int64_t pairs, std::int64_t n) {
  const auto real = [](std::int64_t number) { return static_cast<double>(number); };
  const bool is_long = rotary.long_text > 0 && n > rotary.long_text;
  double base = rotary.base;
  if (is_long && rotary.growth > 0) {
    base *= std::pow(rotary.growth * real(n) / real(rotary.long_text) - rotary.growth + 1,
                     real(pairs) / real(pairs - 1));
  }
  const auto& divisors = is_long && !rotary.long_divisors.empty() ? rotary.long_divisors : rotary.divisors;
  return std::pow(base, real(i) / real(pairs)) *
         (divisors.empty() ? 1 : divisors[static_cast<std::size_t>(i)]);
}

// Pair i of the head that begins at `first` turns by the angle place / radian(i).
void rotate(Matrix& x, const Rotary& rotary, std::int64_t first, std::int64_t size) {
  const std::int64_t turning = rotary.dimensions == 0 ? size : rotary.dimensions, pairs = turning / 2;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(row) / radian(rotary, i, pairs, x.rows);
      const double cosine = rotary.magnitude * std::cos(angle), sine = rotary.magnitude * std::sin(angle);
      const bool halves = rotary.pairing == RotaryPairing::halves;
      const std::int64_t a = first + (halves ? i : 2 * i), b = first + (halves ? i + pairs : 2 * i + 1);
      const double u = x.at(row, a), v = x.at(row, b);
      x.at(row, a) = u * cosine - v * sine;
      x.at(row, b) = u * sine + v * cosine;
    }
  }
}

// Whether a token takes part in a layer as a query, and as a key; the first `source` are the encoder's.
bool asks(LayerKind kind, std::int64_t row, std::int64_t source) {
  return kind == LayerKind::whole || (kind == LayerKind::encoder) == (row < source);
}
bool answers(LayerKind kind, std::int64_t row, std::int64_t source) {
  return kind == LayerKind::whole || (kind != LayerKind::decoder) == (row < source);
}

// Columns that are (heads, 3, size) as (3, heads, size).
Matrix heads_inside(const Matrix& x, std::int64_t heads, std::int64_t size) {
  Matrix out(x.rows, x.columns);
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t part = 0; part < 3; ++part)
        for (std::int64_t d = 0; d < size; ++d)
          out.at(i, (part * heads + h) * size + d) = x.at(i, (h * 3 + part) * size + d);
  return out;
}

bool sees(const AttentionDescription& attention, std::int64_t query, std::int64_t key) {
  const Window& window = attention.window;
  if (attention.causal && key > query) return false;
  if (window.left != Window::kUnlimited && key < query - window.left) return false;
  return window.right == Window::kUnlimited || key <= query + window.right;
}

}  // namespace

Float64Transformer::Float64Transformer(const ModelDescription& description, const TensorSource& tensors)
    : description_(description), names_(model::names_in(description, tensors)) {
  const auto load = [&](const std::string& name) {
    if (!name.empty() && tensors.contains(name)) tensors_[name] = values_of(tensors.tensor(name));
  };
  const auto load_linear = [&](const std::string& name) {
    if (name.empty()) return;
    load(name + ".weight");
    load(name + ".bias");
    outputs_[name] = tensors.tensor(name + ".weight").size(names_.input_first ? 1 : 0);
  };
  const auto load_norm = [&](const std::string& name) {
    if (name.empty()) return;
    const model::NormTensorNames parts = model::norm_tensors(tensors, name);
    load(parts.gamma);
    load(parts.beta);
    tensors_[name + ".weight"] = tensors_[parts.gamma];
    tensors_[name + ".bias"] = tensors_[parts.beta];
  };
  for (const std::string& name :
       {names_.words, names_.positions, names_.types, names_.relative_bias, names_.source_relative_bias})
    load(name);
  load_linear(names_.embedding_projection);
  load_norm(names_.embedding_norm);
  load_norm(names_.final_norm);
  load_norm(names_.source_final_norm);
  for (const model::LayerNames& names : names_.layers) {
    for (const std::string& part : names.projected) load_linear(part);
    for (const std::string& part : names.context) load_linear(part);
    for (const std::string& part : names.up) load_linear(part);
    load_linear(names.out);
    load_linear(names.down);
    load(names.sinks);
    for (const std::string& name : {names.attention_norm, names.attention_out_norm, names.feed_forward_norm,
                                    names.feed_forward_out_norm, names.query_norm, names.key_norm})
      load_norm(name);
  }
}

Matrix Float64Transformer::linear(const Matrix& x, const std::string& name) const {
  const std::vector<double>& weight = tensor(name + ".weight");
  const auto bias = tensors_.find(name + ".bias");
  const std::int64_t outputs = outputs_.at(name);
  Matrix out(x.rows, outputs);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < outputs; ++j) {
      double sum = bias == tensors_.end() ? 0 : bias->second[static_cast<std::size_t>(j)];
      for (std::int64_t p = 0; p < x.columns; ++p) {
        const std::int64_t place = names_.input_first ? p * outputs + j : j * x.columns + p;
        sum += x.at(i, p) * weight[static_cast<std::size_t>(place)];
      }
      out.at(i, j) = sum;
    }
  }
  return out;
}

Matrix Float64Transformer::side_by_side(const Matrix& x, const std::vector<std::string>& names) const {
  std::vector<Matrix> parts;
  std::int64_t columns = 0;
  for (const std::string& name : names) {
    parts.push_back(linear(x, name));
    columns += parts.back().columns;
  }
  Matrix all(x.rows, columns);
  std::int64_t first = 0;
  for (const Matrix& part : parts) {
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t j = 0; j < part.columns; ++j) all.at(i, first + j) = part.at(i, j);
    first += part.columns;
  }
  return all;
}

// Each run of `size` columns separately.
Matrix Float64Transformer::normalised(const Matrix& x, const NormDescription& norm, const std::string& name,
                                      std::int64_t size) const {
  const std::vector<double>&gamma = tensor(name + ".weight"), &beta = tensor(name + ".bias");
  const auto n = static_cast<double>(size);
  Matrix out = x;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t first = 0; first < x.columns; first += size) {
      double mean = 0, variance = 0;
      if (norm.kind == NormKind::layer)
        for (std::int64_t j = 0; j < size; ++j) mean += x.at(i, first + j) / n;
      for (std::int64_t j = 0; j < size; ++j) variance += std::pow(x.at(i, first + j) - mean, 2) / n;
      for (std::int64_t j = 0; j < size; ++j) {
        const auto at = static_cast<std::size_t>(j);
        double& value = out.at(i, first + j);
        value = (value - mean) / std::sqrt(variance + norm.epsilon) * (gamma[at] + (norm.plus_one ? 1 : 0));
        if (norm.kind == NormKind::layer && norm.bias) value += beta[at];
      }
    }
  }
  return out;
}

Matrix Float64Transformer::attended(Matrix q, Matrix k, const Matrix& v, std::int64_t number,
                                    const PassHooks& hooks, std::int64_t source) const {
  const LayerKind kind = description_.layer_kind(number);
  const AttentionDescription& attention = description_.layer(number).attention;
  const std::string& distances =
      kind == LayerKind::encoder ? names_.source_relative_bias : names_.relative_bias;
  const model::LayerNames& names = names_.layers[static_cast<std::size_t>(number) - 1];
  const std::int64_t n = q.rows, size = attention.head_size, group = attention.heads / attention.key_heads;
  const double scale = attention.scale.value_or(1 / std::sqrt(static_cast<double>(size)));
  if (attention.positions == PositionKind::rotary) {
    for (std::int64_t h = 0; h < attention.heads; ++h) rotate(q, attention.rotary, h * size, size);
    for (std::int64_t h = 0; h < attention.key_heads; ++h) rotate(k, attention.rotary, h * size, size);
  }
  Matrix out(n, q.columns);
  for (std::int64_t head = 0; head < attention.heads; ++head) {
    const std::int64_t first = head * size, key_first = head / group * size;
    Matrix weights(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      if (!asks(kind, i, source)) continue;
      double sum = attention.sinks ? std::exp(tensor(names.sinks)[static_cast<std::size_t>(head)]) : 0;
      for (std::int64_t j = 0; j < n; ++j) {
        if (!sees(attention, i, j) || !answers(kind, j, source)) continue;
        double score = 0;
        for (std::int64_t d = 0; d < size; ++d) score += q.at(i, first + d) * k.at(j, key_first + d);
        score *= scale;
        if (attention.softcap > 0) score = attention.softcap * std::tanh(score / attention.softcap);
        if (attention.positions == PositionKind::relative) {
          const std::int64_t place =
              relative_bucket(j - i, attention.relative_buckets) * attention.heads + head;
          score += tensor(distances)[static_cast<std::size_t>(place)];
        }
        weights.at(i, j) = std::exp(score);
        sum += weights.at(i, j);
      }
      for (std::int64_t j = 0; j < n; ++j) weights.at(i, j) /= sum;
    }
    if (hooks.weights) hooks.weights(number, head, weights);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t d = 0; d < size; ++d)
          out.at(i, first + d) += weights.at(i, j) * v.at(j, key_first + d);
  }
  return out;
}

Matrix Float64Transformer::fed_forward(const LayerDescription& layer, const model::LayerNames& names,
                                       const Matrix& x) const {
  const FeedForwardDescription& part = *layer.feed_forward;
  const Matrix product = side_by_side(x, names.up);
  Matrix inner(x.rows, part.size);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < part.size; ++j) {
      inner.at(i, j) = activated(product.at(i, j), part.activation);
      if (part.gated) inner.at(i, j) *= product.at(i, part.size + j);
    }
  }
  return linear(inner, names.down);
}

Matrix Float64Transformer::embedded(std::span<const std::int32_t> text, std::int64_t source) const {
  const std::int64_t e = description_.table_size(), n = static_cast<std::int64_t>(text.size());
  Matrix x(n, e);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t position = (i < source ? i : i - source) + description_.first_position;
    for (std::int64_t j = 0; j < e; ++j) {
      const auto at = [&](std::int64_t row) { return static_cast<std::size_t>(row * e + j); };
      x.at(i, j) = description_.embedding_scale * tensor(names_.words)[at(text[static_cast<std::size_t>(i)])];
      if (description_.positions == PositionKind::learned)
        x.at(i, j) += tensor(names_.positions)[at(position)];
      if (description_.token_types > 0) x.at(i, j) += tensor(names_.types)[at(0)];
    }
  }
  if (description_.embedding_norm) x = normalised(x, *description_.embedding_norm, names_.embedding_norm);
  return description_.embedding_size ? linear(x, names_.embedding_projection) : x;
}

Matrix Float64Transformer::forward(std::span<const std::int32_t> text, const PassHooks& hooks,
                                   std::optional<std::int64_t> layers, std::int64_t source) const {
  Matrix x = embedded(text, source);
  if (hooks.embeddings) hooks.embeddings(x);

  for (std::int64_t number = 1; number <= layers.value_or(description_.layer_count()); ++number) {
    const LayerDescription& layer = description_.layer(number);
    const model::LayerNames& names = names_.layers[static_cast<std::size_t>(number) - 1];
    const NormPlace place = layer.norm.place;
    const Matrix entering = x;
    const bool before = place == NormPlace::before || place == NormPlace::around;
    const auto read = [&](const std::string& norm) {
      return before && !norm.empty() ? normalised(x, layer.norm, norm) : x;
    };
    // x + part, with the norm of its output or of the sum.
    const auto added = [&](Matrix part, const std::string& norm, const std::string& out_norm) {
      if (place == NormPlace::around) part = normalised(part, layer.norm, out_norm);
      if (place == NormPlace::inside) part = normalised(part, layer.norm, norm);
      Matrix sum = x;
      add_to(sum, part);
      return place == NormPlace::after ? normalised(sum, layer.norm, norm) : sum;
    };

    Matrix all = side_by_side(read(names.attention_norm), names.projected);
    if (names_.projected_by_head) all = heads_inside(all, layer.attention.heads, layer.attention.head_size);
    const std::int64_t q = layer.attention.heads * layer.attention.head_size;
    const std::int64_t k = layer.attention.key_heads * layer.attention.head_size;
    Matrix queries = columns_of(all, 0, q);
    const bool cross = layer.kind == LayerKind::cross;
    if (cross) all = side_by_side(x, names.context);
    const std::int64_t first_key = cross ? 0 : q;
    Matrix keys = columns_of(all, first_key, first_key + k);
    if (layer.attention.query_key_norm != QueryKeyNorm::none) {
      const bool heads = layer.attention.query_key_norm == QueryKeyNorm::heads;
      queries = normalised(queries, layer.norm, names.query_norm, heads ? layer.attention.head_size : q);
      keys = normalised(keys, layer.norm, names.key_norm, heads ? layer.attention.head_size : k);
    }
    Matrix gathered =
        attended(queries, keys, columns_of(all, first_key + k, first_key + 2 * k), number, hooks, source);
    if (hooks.attended) hooks.attended(number, gathered);
    const bool parallel = layer.feed_forward && layer.feed_forward->parallel;
    const Matrix beside = parallel ? fed_forward(layer, names, read(names.feed_forward_norm)) : Matrix(0, 0);
    x = added(linear(gathered, names.out), names.attention_norm, names.attention_out_norm);
    if (layer.feed_forward) {
      x = added(parallel ? beside : fed_forward(layer, names, read(names.feed_forward_norm)),
                names.feed_forward_norm, names.feed_forward_out_norm);
    }
    if (description_.final_norm && number == description_.layer_count())
      x = normalised(x, *description_.final_norm, names_.final_norm);
    if (description_.final_norm && number == description_.encoder_layers)
      x = normalised(x, *description_.final_norm, names_.source_final_norm);
    for (std::int64_t i = 0; i < x.rows; ++i) {
      if (asks(layer.kind, i, source)) continue;
      for (std::int64_t j = 0; j < x.columns; ++j) x.at(i, j) = entering.at(i, j);
    }
  }
  return x;
}

}  // namespace attend
