// Reading a few tokens at a time, over a cache of keys and values.
#include <attend/transformer.h>

#include <deque>
#include <span>
#include <vector>

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

void require_writer(const ModelDescription& description) {
  if (!description.is_causal() && !description.has_source()) {
    refuse(kCacheOperation,
           "the tokens of this model see those after them, so it cannot write: its family is ",
           description.family);
  }
}

// Where a read is interrupted, no layer keeps tokens that the others have not read.
struct UndoRead {
  TransformerCache* cache;  // none once the read is done
  std::int64_t length;      // before the read
  ~UndoRead() {
    if (cache != nullptr) cache->truncate(length);
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

namespace {

void check_next(const NextTokens& text, const ModelDescription& model) {
  const std::int64_t first = text.cache->length(), n = std::ssize(text.ids);
  if (n == 0) refuse(kCacheOperation, "there are no tokens to read");
  if (model.has_source() && !text.cache->has_source())
    refuse(kCacheOperation, "the source has not been read yet");
  if (first + n > model.max_tokens()) {
    refuse(kCacheOperation, first + n, " tokens are more than the ", model.max_tokens(),
           " positions of the model");
  }
  check_ids(text.ids, model);
  if (first > 0 && model.rotation_changes(first, first + n)) {
    refuse(kCacheOperation, "this model rotates a text of ", first + n, " tokens differently from one of ",
           first, ": clear the cache and read the text again from its beginning");
  }
}

// The rows of a pass, text after text.
struct NextRows {
  std::vector<std::int32_t> ids{};
  std::vector<std::int64_t> places{}, lengths{};  // of each row: in its text, and its text's

  void add(const NextTokens& text) {
    const std::int64_t first = text.cache->length(), n = std::ssize(text.ids);
    ids.insert(ids.end(), text.ids.begin(), text.ids.end());
    for (std::int64_t i = 0; i < n; ++i) places.push_back(first + i);
    lengths.insert(lengths.end(), text.ids.size(), first + n);
  }
};

}  // namespace

Tensor Transformer::read(std::span<const std::int32_t> ids, TransformerCache& cache) const {
  const NextTokens text{.ids = ids, .cache = &cache};
  return read(std::span(&text, 1));
}

Tensor Transformer::read(std::span<const NextTokens> texts) const {
  const ModelDescription& model = description();
  const ModelWeights& weights = parts_->weights;
  NextRows next;
  std::vector<UndoRead> undo;
  undo.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    TransformerCache* const cache = texts[i].cache;
    if (cache == nullptr) refuse(kCacheOperation, "a text has no cache");
    for (std::size_t j = 0; j < i; ++j) {
      if (texts[j].cache == cache) refuse(kCacheOperation, "two of the texts have the same cache");
    }
    cache->require_for(model);
    check_next(texts[i], model);
    next.add(texts[i]);
  }
  const std::int64_t n = std::ssize(next.ids);
  if (n == 0) refuse(kCacheOperation, "there are no texts to read");
  const RowRange rows{0, n};
  Tensor x(DType::f32, {n, model.hidden_size});
  embed(model, weights, next.ids, next.places, x);
  Workspace work(model, n);
  EveryRotaryTable tables;
  std::deque<DistanceBias> distances;  // one for each text
  for (const NextTokens& text : texts) undo.push_back({.cache = text.cache, .length = text.cache->length()});
  for (std::int64_t index = model.encoder_layers; index < model.layer_count(); ++index) {
    const LayerDescription& layer = model.layers[static_cast<std::size_t>(index)];
    const AttentionOptions options =
        attention_options(layer.attention, weights.stored(index).sinks, weights.precision());
    std::vector<CachedRows> cached;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::int64_t first = cached.empty() ? 0 : cached.back().last, count = std::ssize(texts[i].ids);
      cached.push_back(
          {.cache = &texts[i].cache->layers_[static_cast<std::size_t>(index - model.encoder_layers)],
           .first = first,
           .last = first + count,
           .options = options});
      if (layer.attention.positions != PositionKind::relative) continue;
      if (distances.size() <= i) {
        distances.emplace_back(weights.relative_bias, layer.attention.relative_buckets, undo[i].length, count,
                               undo[i].length + count);
      }
      cached.back().options.bias = distances[i].view();
    }
    const bool rotates = layer.attention.positions == PositionKind::rotary;
    const RotaryTables* const rotary =
        rotates ? &tables.of(layer.attention, next.places, next.lengths) : nullptr;
    const LayerRun run{.layer = layer,
                       .weights = weights.layer(index),
                       .options = options,
                       .memory = work.memory(layer, rows, rows, x),
                       .room = work.room(rows),
                       .cosines = rotates ? rotary->cosines.view() : ConstTensorView(),
                       .sines = rotates ? rotary->sines.view() : ConstTensorView(),
                       .cached = cached};
    run.forward(x, {}, x);
    if (const StoredNorm* const norm = weights.norm_after(model, index))
      normalise(*model.final_norm, norm->view(), x, x);
  }
  for (UndoRead& read : undo) read.cache = nullptr;  // it is done
  return x;
}

}  // namespace attend
