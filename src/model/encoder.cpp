// The forward pass, readable in one sitting.
#include <attend/encoder.h>

#include <attend/layer_norm.h>
#include <attend/positions.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/scratch.h"
#include "model/distance_bias.h"
#include "model/edits.h"
#include "model/embeddings.h"
#include "model/weights.h"

namespace attend {
namespace {

void check_config(const ModelConfig& config) {
  const auto positive = [](const char* name, std::int64_t value) {
    if (value < 1) refuse("encoder", name, " is ", value, ", expected a number from 1");
  };
  positive("hidden", config.hidden_size);
  positive("heads", config.heads);
  positive("inner", config.intermediate_size);
  positive("vocabulary", config.vocabulary_size);
  positive("the number of positions behind the first", config.max_tokens());
  if (config.layers < 0) refuse("encoder", "layers is ", config.layers, ", expected a number from 0");
  if (config.hidden_size % config.heads != 0) {
    refuse("encoder", "hidden is ", config.hidden_size, ", expected a multiple of the ", config.heads,
           " heads");
  }
}

// What a pass works in: one piece of memory, cut up.
class Workspace {
 public:
  Workspace(const ModelConfig& config, std::int64_t tokens)
      : scratch_(Scratch::of<float>(tokens *
                                    (6 * config.hidden_size + config.intermediate_size + 2 * config.heads))),
        next_(scratch_.as<float>()) {
    qkv = take({tokens, 3 * config.hidden_size});
    attended = take({tokens, config.hidden_size});
    sum = take({tokens, config.hidden_size});
    normed = take({tokens, config.hidden_size});
    inner = take({tokens, config.intermediate_size});
    state = {take({tokens, config.heads}), take({tokens, config.heads})};
  }
  TensorView qkv, attended, sum, normed, inner;
  RowStateView state;

 private:
  TensorView take(const Dims& shape) {
    float* const data = std::exchange(next_, next_ + element_count(shape));
    return {data, shape};
  }
  Scratch scratch_;
  float* next_;
};

void apply(const LinearLayer& layer, ConstTensorView x, TensorView out,
           Activation activation = Activation::none, ConstTensorView residual = {}) {
  matmul(x, layer.matrix, out, {.bias = layer.bias, .activation = activation, .residual = residual});
}

void apply(const NormLayer& norm, ConstTensorView x, double epsilon, TensorView out) {
  layer_norm(x, norm.gamma, norm.beta, epsilon, out);
}

}  // namespace

void TokenBatch::add(std::span<const std::int32_t> text, std::span<const std::int32_t> text_types) {
  if (!text_types.empty() && types.size() < ids.size()) types.resize(ids.size());
  ids.insert(ids.end(), text.begin(), text.end());
  types.insert(types.end(), text_types.begin(), text_types.end());
  if (!types.empty()) types.resize(ids.size());
  ends.push_back(tokens());
}

Encoder::Encoder(const ModelConfig& config, const TensorSource& tensors) : config_(config) {
  check_config(config);
  weights_ = std::make_unique<const Weights>(config, tensors);
}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

const ModelConfig& Encoder::config() const noexcept { return config_; }

Tensor Encoder::forward(const TokenBatch& batch, const LayerObserver& observer,
                        std::optional<std::int64_t> layers, const EncoderEdits& edits) const {
  Tensor out(DType::f32, {batch.tokens(), config_.hidden_size});
  forward(batch, out, observer, layers, edits);
  return out;
}

void Encoder::forward(const TokenBatch& batch, TensorView x, const LayerObserver& observer,
                      std::optional<std::int64_t> layers, const EncoderEdits& edits) const {
  const std::int64_t count = layers.value_or(config_.layers);
  if (count < 0 || count > config_.layers)
    refuse("encoder", "layer ", count, " is asked for, there are 0 to ", config_.layers);
  check_edits(edits, config_, batch);
  const Weights& weights = *weights_;
  const std::int64_t e = config_.hidden_size, heads = config_.heads;
  Workspace work(config_, batch.tokens());

  embed_tokens(batch, config_, weights.words, weights.types, weights.positions, x);
  if (!config_.norm_first) apply(weights.embedding_norm, x, config_.layer_norm_eps, x);
  if (observer) observer({.layer = 0, .hidden = x});

  AttentionOptions options{
      .causal = config_.causal, .cumulative_query_lengths = batch.ends, .cumulative_key_lengths = batch.ends};
  std::int64_t longest = 0;
  for (std::size_t s = 0; s + 1 < batch.ends.size(); ++s)
    longest = std::max(longest, batch.ends[s + 1] - batch.ends[s]);
  std::shared_ptr<const DistanceBias> distances;
  if (config_.relative_buckets > 0) {
    const RelativeBuckets buckets{.buckets = config_.relative_buckets,
                                  .max_distance = config_.relative_distance};
    distances = std::make_shared<const DistanceBias>(weights.relative_bias, buckets, longest);
    options.bias = distances->view();
  }

  const auto part = [&](int which) {
    return work.qkv.slice(1, which * e, (which + 1) * e).split(1, heads, e / heads);
  };
  const TensorView attended = work.attended.split(1, heads, e / heads);
  const auto moment = [&](std::int64_t layer) {
    return LayerMoment{.layer = layer,
                       .hidden = x,
                       .q = part(0),
                       .k = part(1),
                       .v = part(2),
                       .attended = attended,
                       .options = options,
                       .row_state = {work.state.max, work.state.sum},
                       .options_owner = distances};
  };

  for (std::int64_t index = 0; index < count; ++index) {
    const TransformerLayer& layer = weights.layers[static_cast<std::size_t>(index)];
    const bool last = index + 1 == config_.layers;
    if (config_.norm_first) {
      apply(layer.attention_norm, x, config_.layer_norm_eps, work.normed);
      apply(layer.qkv, work.normed, work.qkv);
    } else {
      apply(layer.qkv, x, work.qkv);
    }
    attention(part(0), part(1), part(2), options, attended, work.state);
    if (!edits.empty()) apply_edits(edits, moment(index + 1), attended);
    if (config_.norm_first) {
      apply(layer.out, work.attended, x, Activation::none, x);
      apply(layer.output_norm, x, config_.layer_norm_eps, work.normed);
      apply(layer.up, work.normed, work.inner, config_.activation);
      apply(layer.down, work.inner, x, Activation::none, x);
      if (last) apply(weights.final_norm, x, config_.layer_norm_eps, x);
    } else {
      apply(layer.out, work.attended, work.sum, Activation::none, x);
      apply(layer.attention_norm, work.sum, config_.layer_norm_eps, x);
      apply(layer.up, x, work.inner, config_.activation);
      apply(layer.down, work.inner, work.sum, Activation::none, x);
      apply(layer.output_norm, work.sum, config_.layer_norm_eps, x);
    }
    if (observer) observer(moment(index + 1));
  }
}

}  // namespace attend
