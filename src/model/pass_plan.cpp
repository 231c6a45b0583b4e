#include "model/pass_plan.h"

#include <attend/positions.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "model/distance_bias.h"

namespace attend::model {
namespace {

constexpr const char* kPassOperation = "model";

// How many tokens stand before the first of type 1.
std::int64_t source_size(const TokenBatch& batch) {
  const auto target =
      std::find_if(batch.types.begin(), batch.types.end(), [](std::int32_t type) { return type != 0; });
  return batch.types.empty() ? batch.tokens() : target - batch.types.begin();
}

void check_length(const std::string& what, std::int64_t length, std::int64_t most) {
  if (length > most)
    refuse(kPassOperation, what, " has ", length, " tokens, but the model has positions for only ", most);
}

void check_parts(const TokenBatch& batch, const ModelDescription& description) {
  if (batch.texts() > 1) {
    refuse(kPassOperation, "got ", batch.texts(),
           " texts: a model with an encoder and a decoder reads one at a time");
  }
  const std::int64_t split = source_size(batch);
  check_length("the source", split, description.max_tokens());
  check_length("the target", batch.tokens() - split, description.max_tokens());
  if (std::count(batch.types.begin() + std::min<std::int64_t>(split, std::ssize(batch.types)),
                 batch.types.end(), 0) > 0)
    refuse(kPassOperation, "a token of the source comes after one of the target");
}

RotaryTables make_rotary_tables(const AttentionDescription& attention, std::span<const std::int64_t> places,
                                std::span<const std::int64_t> lengths) {
  const Rotary& rotary = attention.rotary;
  const std::int64_t rows = std::ssize(places);
  std::int64_t length = 0;
  std::vector<double> wavelengths = rotary_wavelengths(rotary, attention.head_size, length);
  const std::int64_t pairs = std::ssize(wavelengths);
  RotaryTables tables{Tensor(DType::f64, {rows, pairs}), Tensor(DType::f64, {rows, pairs})};
  const std::span<double> cosines = tables.cosines.values<double>(), sines = tables.sines.values<double>();
  std::size_t at = 0;
  for (std::size_t row = 0; row < places.size(); ++row) {
    if (!lengths.empty() && length != lengths[row]) {  // another text
      length = lengths[row];
      wavelengths = rotary_wavelengths(rotary, attention.head_size, length);
    }
    for (const double wavelength : wavelengths) {
      const double angle = static_cast<double>(places[row]) / wavelength;
      cosines[at] = rotary.magnitude * std::cos(angle);
      sines[at++] = rotary.magnitude * std::sin(angle);
    }
  }
  return tables;
}

}  // namespace

void require_layer_count(const ModelDescription& description, std::optional<std::int64_t> layers) {
  const std::int64_t count = layers.value_or(0);
  if (count < 0 || count > description.layer_count())
    refuse(kPassOperation, "layer ", count, " was asked for, but the layers are 0 to ",
           description.layer_count());
}

void check_ids(std::span<const std::int32_t> ids, const ModelDescription& description) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < description.vocabulary_size) continue;
    refuse(kPassOperation, "id ", ids[i], " of token ", i, " is outside the vocabulary of ",
           description.vocabulary_size);
  }
}

void check_batch(const TokenBatch& batch, const ModelDescription& description) {
  const auto tokens = batch.tokens();
  if (batch.ends.empty() || batch.ends.front() != 0 || batch.ends.back() != tokens) {
    refuse(kPassOperation, "the ends of a batch must start at 0 and end at its ", tokens, " tokens");
  }
  if (!batch.types.empty() && batch.types.size() != batch.ids.size()) {
    refuse(kPassOperation, "got ", batch.types.size(), " types for ", tokens, " tokens");
  }
  for (std::size_t s = 0; s + 1 < batch.ends.size(); ++s) {
    const std::int64_t length = batch.ends[s + 1] - batch.ends[s];
    if (length < 0) refuse(kPassOperation, "the ends of a batch must not decrease, but do after text ", s);
    if (!description.has_source()) check_length(joined("text ", s), length, description.max_tokens());
  }
  if (description.has_source()) check_parts(batch, description);
  check_ids(batch.ids, description);
  if (description.token_types == 0) return;
  for (std::size_t i = 0; i < batch.types.size(); ++i) {
    if (batch.types[i] >= 0 && batch.types[i] < description.token_types) continue;
    refuse(kPassOperation, "type ", batch.types[i], " of token ", i, " is not one of the model's ",
           description.token_types);
  }
}

void check_share(std::span<const std::int32_t> ids, const TextShare& share,
                 const ModelDescription& description) {
  if (description.has_source())
    refuse(kPassOperation,
           "a text of a model with an encoder and a decoder is not shared by several processes");
  for (const LayerDescription& layer : description.layers) {
    if (layer.attention.positions == PositionKind::relative)
      refuse(kPassOperation, "a text of a model with relative positions is not shared by several processes");
  }
  if (ids.size() != share.places.size())
    refuse(kPassOperation, "got ", share.places.size(), " places for ", ids.size(), " tokens");
  check_length("the text", share.length, description.max_tokens());
  for (const std::int64_t place : share.places) {
    if (place < 0 || place >= share.length)
      refuse(kPassOperation, "place ", place, " is outside the text of ", share.length, " tokens");
  }
  check_ids(ids, description);
}

const RotaryTables& EveryRotaryTable::of(const AttentionDescription& attention,
                                         std::span<const std::int64_t> places,
                                         std::span<const std::int64_t> lengths) {
  for (const Entry& entry : made_) {
    if (entry.rotary == attention.rotary && entry.head_size == attention.head_size) return entry.tables;
  }
  return made_
      .emplace_back(
          Entry{attention.rotary, attention.head_size, make_rotary_tables(attention, places, lengths)})
      .tables;
}

AttentionOptions attention_options(const AttentionDescription& attention, std::span<const double> sinks,
                                   Precision precision) {
  AttentionOptions options{.causal = attention.causal, .window = attention.window};
  if (attention.scale) options.scale = *attention.scale;
  options.softcap = attention.softcap;
  options.sinks.assign(sinks.begin(), sinks.end());
  if (attention.positions == PositionKind::alibi) options.alibi_slopes = alibi_slopes(attention.heads);
  // There is no attention in int8: bf16 loses less than int8 matrices have lost before.
  if (precision != Precision::f32) options.precision = Precision::bf16;
  return options;
}

// The memory that the views in options and steps refer to.
struct PassPlan::Shared {
  std::array<std::optional<DistanceBias>, 2> distances;  // of an encoder with a decoder, and of all others
  std::array<Tensor, 3> masks;                           // of encoder, decoder and cross layers
  EveryRotaryTable rotary;
};

PassPlan::PassPlan(const ModelDescription& description, const ModelWeights& weights, const TokenBatch& batch)
    : tokens_(batch.tokens()),
      split_(description.has_source() ? source_size(batch) : batch.tokens()),
      places_(batch.ids.size()) {
  std::vector<std::int64_t> ends = batch.ends;
  if (description.has_source()) ends = {0, split_, tokens_};
  std::int64_t longest = 0;
  std::vector<std::int64_t> lengths(batch.ids.size());
  for (std::size_t s = 0; s + 1 < ends.size(); ++s) {
    longest = std::max(longest, ends[s + 1] - ends[s]);
    std::fill(lengths.begin() + ends[s], lengths.begin() + ends[s + 1], ends[s + 1] - ends[s]);
    for (std::int64_t i = ends[s]; i < ends[s + 1]; ++i) places_[static_cast<std::size_t>(i)] = i - ends[s];
  }

  if (description.has_source()) longest = tokens_;  // attention reads source and target as one text

  const auto shared = std::make_shared<Shared>();
  plan_layers(description, weights, lengths, *shared);
  for (std::size_t index = 0; index < description.layers.size(); ++index) {
    const LayerDescription& layer = description.layers[index];
    Step& step = steps_[index];
    step.options.cumulative_query_lengths = step.options.cumulative_key_lengths = batch.ends;
    if (layer.attention.positions == PositionKind::relative) {
      std::optional<DistanceBias>& distances = shared->distances[layer.kind == LayerKind::encoder ? 0 : 1];
      if (!distances) {
        distances.emplace(weights.relative_bias_of(layer.kind), layer.attention.relative_buckets, 0, longest,
                          longest);
      }
      step.options.bias = distances->view();
    }
  }
  if (description.has_source()) mask_parts(description, *shared);
  owner_ = shared;
}

PassPlan::PassPlan(const ModelDescription& description, const ModelWeights& weights, const TextShare& share)
    : tokens_(std::ssize(share.places)), split_(tokens_), places_(share.places) {
  const std::vector<std::int64_t> lengths(share.places.size(), share.length);
  const auto shared = std::make_shared<Shared>();
  plan_layers(description, weights, lengths, *shared);
  owner_ = shared;
}

void PassPlan::plan_layers(const ModelDescription& description, const ModelWeights& weights,
                           std::span<const std::int64_t> lengths, Shared& shared) {
  for (std::size_t index = 0; index < description.layers.size(); ++index) {
    const LayerDescription& layer = description.layers[index];
    Step& step = steps_.emplace_back();
    step.options = attention_options(layer.attention, weights.stored(static_cast<std::int64_t>(index)).sinks,
                                     weights.precision());
    if (layer.attention.positions != PositionKind::rotary) continue;
    const RotaryTables& tables = shared.rotary.of(layer.attention, places_, lengths);
    step.cosines = queries(layer.kind).of(tables.cosines.view());
    step.sines = queries(layer.kind).of(tables.sines.view());
  }
}

// Source and target are one text with a mask, so that everything that works on a text's attention (rows,
// maps, edits) works on theirs too. A mask has n² bytes: models of this kind are small, and read texts no
// longer than those they were trained on.
void PassPlan::mask_parts(const ModelDescription& description, Shared& shared) {
  constexpr std::array kKinds = {LayerKind::encoder, LayerKind::decoder, LayerKind::cross};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    Tensor& mask = shared.masks[i] = Tensor(DType::boolean, {1, 1, tokens_, tokens_});
    const RowRange rows = queries(kKinds[i]), columns = keys(kKinds[i]);
    for (std::int64_t row = rows.first; row < rows.last; ++row) {
      const auto begin = mask.values<bool>().begin() + row * tokens_;
      std::fill(begin + columns.first, begin + columns.last, true);
    }
  }
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    const LayerKind kind = description.layers[index].kind;
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      if (kKinds[i] == kind) steps_[index].options.mask = shared.masks[i].view();
    }
  }
}

RowRange PassPlan::queries(LayerKind kind) const {
  if (kind == LayerKind::whole) return {0, tokens_};
  return kind == LayerKind::encoder ? source() : target();
}

RowRange PassPlan::keys(LayerKind kind) const {
  if (kind == LayerKind::whole) return {0, tokens_};
  return kind == LayerKind::decoder ? target() : source();
}

}  // namespace attend::model
