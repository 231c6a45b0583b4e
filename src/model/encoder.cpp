// The forward pass, readable in one sitting.
#include <attend/encoder.h>

#include <attend/swiglu.h>

#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/scratch.h"
#include "model/edits.h"
#include "model/embeddings.h"
#include "model/layer_math.h"
#include "model/pass_plan.h"
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
      : scratch_(
            Scratch::of<float>(tokens * (6 * config.hidden_size + wide_size(config) + 2 * config.heads))),
        next_(scratch_.as<float>()) {
    qkv = take({tokens, 3 * config.hidden_size});
    attended = take({tokens, config.hidden_size});
    sum = take({tokens, config.hidden_size});
    normed = take({tokens, config.hidden_size});
    inner = take({tokens, wide_size(config)});
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

void clear(TensorView rows) {
  std::memset(rows.raw(), 0, static_cast<std::size_t>(rows.count()) * sizeof(float));
}

// out = the feed-forward part of x + residual. wide (rows, wide_size) is what it works in.
void feed_forward(const ModelConfig& config, const TransformerLayer& layer, ConstTensorView x,
                  TensorView wide, TensorView out, ConstTensorView residual) {
  TensorView inner = wide;
  if (config.gated) {
    apply(layer.up, x, wide);
    inner = wide.slice(1, 0, config.intermediate_size);
    swiglu(inner, wide.slice(1, config.intermediate_size, 2 * config.intermediate_size), inner);
  } else {
    apply(layer.up, x, wide, config.activation);
  }
  apply(layer.down, inner, out, Activation::none, residual);
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
  check_batch(batch, config_);
  check_edits(edits, config_, batch);
  const Weights& weights = *weights_;
  const std::int64_t e = config_.hidden_size, heads = config_.heads;
  const PassPlan plan(config_, batch, weights.relative_bias);
  Workspace work(config_, batch.tokens());

  const Tensor computed = computed_positions(plan.places(), config_);
  embed_tokens(batch, plan.places(), config_, weights.words, weights.types,
               computed.count() > 0 ? computed.view() : weights.positions, x);
  if (!config_.norm_first) {
    const bool two = config_.encoder_layers > 0;
    const TensorView target = two ? plan.target().of(x) : x, source = plan.source().of(x);
    if (two) normalise(config_, weights.source_embedding_norm, source, source);
    normalise(config_, weights.embedding_norm, target, target);
  }
  if (observer) observer({.layer = 0, .hidden = x});

  const auto columns = [&](std::int64_t from, std::int64_t to) {
    return work.qkv.slice(1, from * e, to * e);
  };
  const auto part = [&](std::int64_t which) { return columns(which, which + 1).split(1, heads, e / heads); };
  const TensorView attended = work.attended.split(1, heads, e / heads);
  const auto moment = [&](std::int64_t layer) {
    return LayerMoment{.layer = layer,
                       .hidden = x,
                       .q = part(0),
                       .k = part(1),
                       .v = part(2),
                       .attended = attended,
                       .options = plan.options(config_.layer_kind(layer)),
                       .row_state = {work.state.max, work.state.sum},
                       .options_owner = plan.options_owner()};
  };

  for (std::int64_t index = 0; index < count; ++index) {
    const TransformerLayer& layer = weights.layers[static_cast<std::size_t>(index)];
    const LayerKind kind = config_.layer_kind(index + 1);
    const RowRange rows = plan.queries(kind), keys = plan.keys(kind);
    const TensorView mine = rows.of(x), sum = rows.of(work.sum), normed = rows.of(work.normed);
    const ConstTensorView mixed = rows.of(work.attended);

    if (kind != LayerKind::whole) clear(work.qkv);  // the rows that take no part
    if (config_.norm_first) normalise(config_, layer.attention_norm, mine, normed);
    const ConstTensorView read = config_.norm_first ? normed : mine;
    if (kind == LayerKind::cross) {
      apply(layer.qkv, read, rows.of(columns(0, 1)));
      apply(layer.context, keys.of(x), keys.of(columns(1, 3)));
    } else {
      apply(layer.qkv, read, rows.of(work.qkv));
      plan.turn(part(0), rows);
      plan.turn(part(1), rows);
    }
    attention(part(0), part(1), part(2), plan.options(kind), attended, work.state);
    if (!edits.empty()) apply_edits(edits, moment(index + 1), attended);
    if (config_.norm_first) {
      apply(layer.out, mixed, mine, Activation::none, mine);
      if (layer.has_feed_forward()) {
        normalise(config_, layer.output_norm, mine, normed);
        feed_forward(config_, layer, normed, rows.of(work.inner), mine, mine);
      }
      if (const NormLayer* const norm = weights.norm_behind(config_, index))
        normalise(config_, *norm, mine, mine);
    } else {
      apply(layer.out, mixed, sum, Activation::none, mine);
      normalise(config_, layer.attention_norm, sum, mine);
      if (layer.has_feed_forward()) {
        feed_forward(config_, layer, mine, rows.of(work.inner), sum, mine);
        normalise(config_, layer.output_norm, sum, mine);
      }
    }
    if (observer) observer(moment(index + 1));
  }
}

}  // namespace attend
