#include "learn/decoder.h"

#include <attend/checkpoint.h>
#include <attend/embedding.h>
#include <attend/file_error.h>
#include <attend/layer_norm.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace attend::learn {
namespace {

constexpr const char* kOperation = "generate";

}  // namespace

Decoder::Decoder(const ModelFiles& files) : config_(read_model_config(files.config)) {
  if (config_.family != ModelFamily::gpt2) {
    throw FileError(files.config.string(), "model_type",
                    joined('"', config_.model_type, "\" cannot write; only gpt2 can"));
  }
  const Checkpoint checkpoint = Checkpoint::open(files.weights);
  const std::string prefix = checkpoint.contains("wte.weight") ? "" : "transformer.";
  const std::int64_t e = config_.hidden_size, inner = config_.intermediate_size;
  const auto tensor = [&](const std::string& name, const Dims& shape) {
    return copy_of(checkpoint.tensor(prefix + name, shape), DType::f32);
  };
  const auto dense = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    return Dense{PackedMatrix(checkpoint.tensor(prefix + name + ".weight", {in, out})),
                 tensor(name + ".bias", {out})};
  };
  const auto norm = [&](const std::string& name) {
    return Norm{tensor(name + ".weight", {e}), tensor(name + ".bias", {e})};
  };
  words_ = tensor("wte.weight", {config_.vocabulary_size, e});
  positions_ = tensor("wpe.weight", {config_.positions, e});
  const bool own_output = !config_.tied_embeddings && checkpoint.contains("lm_head.weight");
  output_ = PackedMatrix((own_output ? checkpoint.tensor("lm_head.weight", {config_.vocabulary_size, e})
                                     : ConstTensorView(words_))
                             .transposed(0, 1));
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const std::string h = "h." + std::to_string(i) + ".";
    layers_.push_back({.attention_norm = norm(h + "ln_1"),
                       .output_norm = norm(h + "ln_2"),
                       .qkv = dense(h + "attn.c_attn", e, 3 * e),
                       .out = dense(h + "attn.c_proj", e, e),
                       .up = dense(h + "mlp.c_fc", e, inner),
                       .down = dense(h + "mlp.c_proj", inner, e)});
    caches_.emplace_back(DType::f32, 1, config_.heads, e / config_.heads, e / config_.heads);
  }
  final_norm_ = norm("ln_f");
  checkpoint.require_intact();
}

void Decoder::forget() {
  for (KeyValueCache& cache : caches_) cache.clear();
  length_ = 0;
}

Tensor Decoder::read(std::span<const std::int32_t> ids) {
  const auto n = static_cast<std::int64_t>(ids.size());
  if (n == 0) refuse(kOperation, "there is no token to go on from");
  if (length_ + n > most_tokens()) {
    refuse(kOperation, length_ + n, " tokens are more than the ", most_tokens(), " positions of the model");
  }
  const std::int64_t e = config_.hidden_size, heads = config_.heads;
  const double epsilon = config_.layer_norm_eps;
  std::vector<std::int32_t> places(ids.size());
  std::iota(places.begin(), places.end(), static_cast<std::int32_t>(length_));
  Tensor x(DType::f32, {n, e}), normed(DType::f32, {n, e}), qkv(DType::f32, {n, 3 * e});
  Tensor attended(DType::f32, {n, e}), inner(DType::f32, {n, config_.intermediate_size});
  embedding(ids, words_, x);
  add_embedding(places, positions_, x);
  // (1, H, n, D)
  const auto by_head = [&](TensorView rows) {
    return rows.split(1, heads, e / heads).transposed(0, 1).with_axis(0);
  };
  const auto part = [&](std::int64_t which) {
    return by_head(qkv.view().slice(1, which * e, (which + 1) * e));
  };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    layer_norm(x, layer.attention_norm.gamma, layer.attention_norm.beta, epsilon, normed);
    matmul(normed, layer.qkv.matrix, qkv, {.bias = layer.qkv.bias});
    caches_[i].append(part(1), part(2));
    caches_[i].attention(part(0), {.causal = true}, by_head(attended.view()));
    matmul(attended, layer.out.matrix, x, {.bias = layer.out.bias, .residual = x});
    layer_norm(x, layer.output_norm.gamma, layer.output_norm.beta, epsilon, normed);
    matmul(normed, layer.up.matrix, inner, {.bias = layer.up.bias, .activation = config_.activation});
    matmul(inner, layer.down.matrix, x, {.bias = layer.down.bias, .residual = x});
  }
  length_ += n;
  const TensorView last = x.view().slice(0, n - 1, n);
  layer_norm(last, final_norm_.gamma, final_norm_.beta, epsilon, last);
  Tensor logits(DType::f32, {1, config_.vocabulary_size});
  matmul(last, output_, logits);
  return copy_of(logits.view().select(0, 0));
}

std::int32_t sample(ConstTensorView logits, const Sampling& sampling, std::uint64_t number) {
  const Tensor copied = copy_of(logits, DType::f32);
  const std::span<const float> values = copied.values<float>();
  std::vector<std::int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const float left = values[static_cast<std::size_t>(a)], right = values[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  };
  const auto size = static_cast<std::int64_t>(order.size());
  const std::int64_t kept =
      sampling.temperature <= 0 ? 1 : (sampling.top > 0 ? std::min(sampling.top, size) : size);
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), better);
  if (kept == 1) return order.front();
  const auto top = static_cast<double>(values[static_cast<std::size_t>(order.front())]);
  std::vector<double> shares;
  double sum = 0;
  for (std::int64_t i = 0; i < kept; ++i) {
    const auto value =
        static_cast<double>(values[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
    sum += std::exp((value - top) / sampling.temperature);
    shares.push_back(sum);
  }
  const double drawn = uniform_at(sampling.seed, number) * sum;
  const auto place = std::upper_bound(shares.begin(), shares.end() - 1, drawn) - shares.begin();
  return order[static_cast<std::size_t>(place)];
}

std::vector<std::int32_t> generate(Decoder& decoder, std::span<const std::int32_t> prompt, std::int64_t count,
                                   const Sampling& sampling) {
  std::vector<std::int32_t> all(prompt.begin(), prompt.end());
  const auto most = static_cast<std::size_t>(decoder.most_tokens());
  std::vector<std::int32_t> next(all.end() - static_cast<std::ptrdiff_t>(std::min(most, all.size())),
                                 all.end());
  decoder.forget();
  for (std::int64_t i = 0; i < count; ++i) {
    if (decoder.length() + static_cast<std::int64_t>(next.size()) > decoder.most_tokens()) {
      decoder.forget();
      const std::size_t again = std::max<std::size_t>(1, most / 2);
      next.assign(all.end() - static_cast<std::ptrdiff_t>(std::min(again, all.size())), all.end());
    }
    all.push_back(sample(decoder.read(next), sampling, static_cast<std::uint64_t>(i)));
    next.assign(1, all.back());
  }
  return {all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end()};
}

}  // namespace attend::learn
