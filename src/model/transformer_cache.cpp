// Reading a few tokens at a time, over a cache of keys and values.
#include <attend/transformer.h>

#include <numeric>
#include <optional>

#include "base/error.h"
#include "model/distance_bias.h"
#include "model/embeddings.h"
#include "model/pass_plan.h"
#include "model/transformer_parts.h"
#include "model/workspace.h"

namespace attend {

using namespace model;

namespace {

constexpr const char* kCacheOperation = "generate";

std::vector<std::int64_t> places_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), first);
  return places;
}

void require_writer(const ModelDescription& description) {
  if (!description.is_causal() && !description.has_source()) {
    refuse(kCacheOperation,
           "the tokens of this model see those after them, so it cannot write: its family is ",
           description.family);
  }
}

// Where a read is interrupted, no layer keeps tokens that the others have not read.
struct UndoRead {
  TransformerCache& cache;
  std::int64_t length;  // before the read
  bool done = false;
  ~UndoRead() {
    if (!done) cache.truncate(length);
  }
};

}  // namespace

TransformerCache::TransformerCache(const ModelDescription& description, CacheType type)
    : encoder_layers_(description.encoder_layers) {
  require_writer(description);
  for (std::size_t i = static_cast<std::size_t>(description.encoder_layers); i < description.layers.size();
       ++i) {
    const AttentionDescription& attention = description.layers[i].attention;
    layers_.emplace_back(type, 1, attention.key_heads, attention.head_size, attention.head_size);
    kinds_.push_back(description.layers[i].kind);
  }
}

std::int64_t TransformerCache::length() const noexcept {
  return layers_.empty() ? 0 : layers_.front().length();
}

std::int64_t TransformerCache::bytes() const {
  std::int64_t sum = 0;
  for (const KeyValueCache& layer : layers_) sum += layer.bytes();
  return sum;
}

void TransformerCache::clear() noexcept {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (kinds_[i] != LayerKind::cross) layers_[i].clear();
  }
}

void TransformerCache::truncate(std::int64_t length) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (kinds_[i] != LayerKind::cross) layers_[i].truncate(length);
  }
}

const KeyValueCache& TransformerCache::layer(std::int64_t number) const {
  const std::int64_t last = encoder_layers_ + std::ssize(layers_);
  if (number <= encoder_layers_ || number > last) {
    refuse(kCacheOperation, "layer is ", number, ", expected ", encoder_layers_ + 1, " to ", last);
  }
  return layers_[static_cast<std::size_t>(number - encoder_layers_) - 1];
}

void TransformerCache::require_for(const ModelDescription& description) const {
  const auto fits = [&](std::size_t i) {
    const LayerDescription& layer =
        description.layers[static_cast<std::size_t>(description.encoder_layers) + i];
    return layer.kind == kinds_[i] && layers_[i].heads() == layer.attention.key_heads &&
           layers_[i].head_size() == layer.attention.head_size;
  };
  bool all = description.encoder_layers == encoder_layers_ &&
             description.layer_count() == encoder_layers_ + std::ssize(layers_);
  for (std::size_t i = 0; all && i < layers_.size(); ++i) all = fits(i);
  if (!all) refuse(kCacheOperation, "the cache was made for another model");
}

void Transformer::read_source(std::span<const std::int32_t> ids, TransformerCache& cache) const {
  const ModelDescription& model = description();
  if (!model.has_source()) refuse(kCacheOperation, "the model has no encoder to read a source");
  if (ids.empty()) refuse(kCacheOperation, "the source is empty");
  cache.require_for(model);
  TokenBatch batch;
  batch.add(ids);
  const Tensor source = forward(batch, {}, model.encoder_layers);
  cache.clear();
  cache.has_source_ = false;  // until all layers have it
  for (std::size_t i = 0; i < cache.layers_.size(); ++i) {
    if (cache.kinds_[i] != LayerKind::cross) continue;
    const std::int64_t index = model.encoder_layers + static_cast<std::int64_t>(i);
    const AttentionDescription& attention = model.layers[static_cast<std::size_t>(index)].attention;
    const std::int64_t k = key_columns(attention);
    Tensor both(DType::f32, {source.size(0), 2 * k});
    parts_->weights.layer(index).context.apply(source, both);
    const auto heads = [&](std::int64_t which) {
      return both.view()
          .slice(1, which * k, (which + 1) * k)
          .split(1, attention.key_heads, attention.head_size)
          .transposed(0, 1)
          .with_axis(0);
    };
    cache.layers_[i].clear();
    cache.layers_[i].append(heads(0), heads(1));
  }
  cache.has_source_ = true;
}

Tensor Transformer::read(std::span<const std::int32_t> ids, TransformerCache& cache) const {
  const ModelDescription& model = description();
  const ModelWeights& weights = parts_->weights;
  if (ids.empty()) refuse(kCacheOperation, "there are no tokens to read");
  cache.require_for(model);
  if (model.has_source() && !cache.has_source()) refuse(kCacheOperation, "the source has not been read yet");
  const std::int64_t first = cache.length(), n = std::ssize(ids);
  if (first + n > model.max_tokens()) {
    refuse(kCacheOperation, first + n, " tokens are more than the ", model.max_tokens(),
           " positions of the model");
  }
  check_ids(ids, model);
  if (first > 0 && model.rotation_changes(first, first + n)) {
    refuse(kCacheOperation, "this model rotates a text of ", first + n, " tokens differently from one of ",
           first, ": clear the cache and read the text again from its beginning");
  }
  const std::vector<std::int64_t> places = places_from(first, n);
  const std::vector<std::int64_t> lengths(places.size(), first + n);
  const RowRange rows{0, n};
  Tensor x(DType::f32, {n, model.hidden_size});
  embed(model, weights, ids, places, x);
  Workspace work(model, n);
  EveryRotaryTable tables;
  std::optional<DistanceBias> distances;
  UndoRead undo{.cache = cache, .length = first};
  for (std::size_t i = 0; i < cache.layers_.size(); ++i) {
    const std::int64_t index = model.encoder_layers + static_cast<std::int64_t>(i);
    const LayerDescription& layer = model.layers[static_cast<std::size_t>(index)];
    AttentionOptions options =
        attention_options(layer.attention, weights.stored(index).sinks, weights.precision());
    if (layer.attention.positions == PositionKind::relative) {
      if (!distances)
        distances.emplace(weights.relative_bias, layer.attention.relative_buckets, first, n, first + n);
      options.bias = distances->view();
    }
    const bool rotates = layer.attention.positions == PositionKind::rotary;
    const RotaryTables* const rotary = rotates ? &tables.of(layer.attention, places, lengths) : nullptr;
    const LayerRun run{.layer = layer,
                       .weights = weights.layer(index),
                       .options = options,
                       .memory = work.memory(layer, rows, rows, x),
                       .room = work.room(rows),
                       .cosines = rotates ? rotary->cosines.view() : ConstTensorView(),
                       .sines = rotates ? rotary->sines.view() : ConstTensorView(),
                       .cache = &cache.layers_[i]};
    run.forward(x, {}, x);
    if (const StoredNorm* const norm = weights.norm_after(model, index))
      normalise(*model.final_norm, norm->view(), x, x);
  }
  undo.done = true;
  return x;
}

}  // namespace attend
