#include "model/float64_transformer.h"

#include <attend/positions.h>

#include <cmath>
#include <numbers>

#include "support/compare.h"

namespace attend {
namespace {

double activated(double x, Activation activation) {
  if (activation == Activation::relu) return x < 0 ? 0 : x;
  if (activation == Activation::gelu) return x * (1 + std::erf(x / std::numbers::sqrt2)) / 2;
  return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) / 2;
}

void add(Matrix& x, const Matrix& other) {
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] += other.values[i];
}

Matrix columns_of(const Matrix& x, std::int64_t begin, std::int64_t end) {
  Matrix part(x.rows, end - begin);
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = begin; j < end; ++j) part.at(i, j - begin) = x.at(i, j);
  return part;
}

}  // namespace

Float64Transformer::Float64Transformer(const ModelConfig& config, const TensorSource& tensors)
    : config_(config), names_(names_of(config, tensors)) {
  const auto load = [&](const std::string& name) {
    if (!name.empty()) tensors_[name] = values_of(tensors.tensor(name));
  };
  const auto load_pair = [&](const std::string& name) {
    if (name.empty()) return;
    load(name + ".weight");
    load(name + ".bias");
  };
  load(names_.embeddings.words);
  load(names_.embeddings.positions);
  if (config.token_types > 0) load(names_.embeddings.types);
  load(names_.relative_bias);
  load_pair(names_.embeddings.norm);
  load_pair(names_.final_norm);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const LayerNames names = names_.layer(layer);
    for (const std::string& part : names.qkv) load_pair(part);
    for (const std::string& name : {names.out, names.attention_norm, names.up, names.down, names.output_norm})
      load_pair(name);
  }
}

Matrix Float64Transformer::linear(const Matrix& x, const std::string& name, std::int64_t outputs) const {
  const std::vector<double>&weight = tensor(name + ".weight"), &bias = tensor(name + ".bias");
  Matrix out(x.rows, outputs);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < outputs; ++j) {
      double sum = bias[static_cast<std::size_t>(j)];
      for (std::int64_t p = 0; p < x.columns; ++p) {
        const std::int64_t place = names_.input_first ? p * outputs + j : j * x.columns + p;
        sum += x.at(i, p) * weight[static_cast<std::size_t>(place)];
      }
      out.at(i, j) = sum;
    }
  }
  return out;
}

Matrix Float64Transformer::normalised(const Matrix& x, const std::string& name) const {
  const std::vector<double>&gamma = tensor(name + ".weight"), &beta = tensor(name + ".bias");
  const auto n = static_cast<double>(x.columns);
  Matrix out = x;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) mean += x.at(i, j) / n;
    for (std::int64_t j = 0; j < x.columns; ++j) variance += (x.at(i, j) - mean) * (x.at(i, j) - mean) / n;
    for (std::int64_t j = 0; j < x.columns; ++j) {
      const auto at = static_cast<std::size_t>(j);
      out.at(i, j) =
          (x.at(i, j) - mean) / std::sqrt(variance + config_.layer_norm_eps) * gamma[at] + beta[at];
    }
  }
  return out;
}

Matrix Float64Transformer::attended(const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t layer,
                                    const PassHooks& hooks) const {
  const std::int64_t n = q.rows, size = q.columns / config_.heads;
  const RelativeBuckets buckets{.buckets = config_.relative_buckets,
                                .max_distance = config_.relative_distance};
  Matrix out(n, q.columns);
  for (std::int64_t head = 0; head < config_.heads; ++head) {
    const std::int64_t first = head * size;
    Matrix weights(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < (config_.causal ? i + 1 : n); ++j) {
        double score = 0;
        for (std::int64_t d = first; d < first + size; ++d) score += q.at(i, d) * k.at(j, d);
        score /= std::sqrt(static_cast<double>(size));
        if (config_.relative_buckets > 0) {
          const std::int64_t place = relative_bucket(j - i, buckets) * config_.heads + head;
          score += tensor(names_.relative_bias)[static_cast<std::size_t>(place)];
        }
        weights.at(i, j) = std::exp(score);
        sum += weights.at(i, j);
      }
      for (std::int64_t j = 0; j < n; ++j) weights.at(i, j) /= sum;
    }
    if (hooks.weights) hooks.weights(layer, head, weights);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t d = first; d < first + size; ++d) out.at(i, d) += weights.at(i, j) * v.at(j, d);
  }
  return out;
}

Matrix Float64Transformer::forward(std::span<const std::int32_t> text, const PassHooks& hooks,
                                   std::optional<std::int64_t> layers) const {
  const std::int64_t e = config_.hidden_size, n = static_cast<std::int64_t>(text.size());
  Matrix x(n, e);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < e; ++j) {
      x.at(i, j) =
          tensor(
              names_.embeddings.words)[static_cast<std::size_t>(text[static_cast<std::size_t>(i)] * e + j)] +
          tensor(names_.embeddings.positions)[static_cast<std::size_t>((i + config_.first_position) * e + j)];
      if (config_.token_types > 0) x.at(i, j) += tensor(names_.embeddings.types)[static_cast<std::size_t>(j)];
    }
  }
  if (!config_.norm_first) x = normalised(x, names_.embeddings.norm);
  if (hooks.embeddings) hooks.embeddings(x);

  for (std::int64_t layer = 1; layer <= layers.value_or(config_.layers); ++layer) {
    const LayerNames names = names_.layer(layer - 1);
    const Matrix read = config_.norm_first ? normalised(x, names.attention_norm) : x;
    std::vector<Matrix> parts;
    if (names.qkv.size() == 1) {
      const Matrix all = linear(read, names.qkv[0], 3 * e);
      for (std::int64_t part = 0; part < 3; ++part)
        parts.push_back(columns_of(all, part * e, (part + 1) * e));
    } else {
      for (const std::string& name : names.qkv) parts.push_back(linear(read, name, e));
    }
    Matrix mixed = attended(parts[0], parts[1], parts[2], layer, hooks);
    if (hooks.attended) hooks.attended(layer, mixed);
    add(x, linear(mixed, names.out, e));
    if (!config_.norm_first) x = normalised(x, names.attention_norm);

    Matrix inner = linear(config_.norm_first ? normalised(x, names.output_norm) : x, names.up,
                          config_.intermediate_size);
    for (double& value : inner.values) value = activated(value, config_.activation);
    add(x, linear(inner, names.down, e));
    if (!config_.norm_first) x = normalised(x, names.output_norm);
    if (config_.norm_first && layer == config_.layers) x = normalised(x, names_.final_norm);
  }
  return x;
}

}  // namespace attend
