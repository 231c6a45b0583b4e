#include <attend/model_description.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "nn/frequencies.h"

namespace attend {
namespace {

constexpr const char* kDescriptionOperation = "model";

void check_count(const std::string& name, std::int64_t value, std::int64_t least,
                 std::int64_t most = kLargestModelSize) {
  if (value < least || value > most) {
    refuse(kDescriptionOperation, name, " is ", value, ", expected a number from ", least, " to ", most);
  }
}

void check_norm(const NormDescription& norm) {
  if (!(norm.epsilon >= 0 && norm.epsilon <= 1))
    refuse(kDescriptionOperation, "epsilon is ", norm.epsilon, ", expected a number from 0 to 1");
}

void check_attention(const AttentionDescription& attention) {
  check_count("heads", attention.heads, 1);
  check_count("key_heads", attention.key_heads, 1);
  check_count("head_size", attention.head_size, 1);
  check_count("heads × head_size", attention.heads * attention.head_size, 1);
  if (attention.heads % attention.key_heads != 0) {
    refuse(kDescriptionOperation, "key_heads is ", attention.key_heads, ", expected a divisor of the ",
           attention.heads, " heads");
  }
  if (attention.positions == PositionKind::rotary) {
    const std::int64_t turning =
        attention.rotary.dimensions == 0 ? attention.head_size : attention.rotary.dimensions;
    if (turning % 2 != 0)
      refuse(kDescriptionOperation, "a head has ", turning,
             " dimensions, but rotary positions turn them in pairs");
    detail::rotated_dimensions(kDescriptionOperation, attention.rotary, attention.head_size);
  }
}

// A layer that has the weights of an earlier one fits them.
void check_shared(const ModelDescription& description, std::size_t index) {
  const LayerDescription& layer = description.layers[index];
  if (!layer.weights_of) return;
  const std::int64_t other = *layer.weights_of;
  if (other < 1 || other > static_cast<std::int64_t>(index) || description.layer(other).weights_of) {
    refuse(kDescriptionOperation, "layer ", index + 1, " has the weights of layer ", other,
           ", expected an earlier one with weights of its own");
  }
  const LayerDescription& owner = description.layer(other);
  const auto sizes = [](const LayerDescription& of) {
    const std::optional<FeedForwardDescription>& part = of.feed_forward;
    return std::tuple(of.kind, of.attention.heads, of.attention.key_heads, of.attention.head_size,
                      part ? part->size : 0, part && part->gated, of.norm.kind, of.norm.place,
                      of.attention_norm, of.attention.query_key_norm, of.attention.sinks);
  };
  if (sizes(layer) != sizes(owner)) {
    refuse(kDescriptionOperation, "layer ", index + 1, " has the weights of layer ", other,
           ", and is not made like it");
  }
}

void check_layer(const ModelDescription& description, const LayerDescription& layer) {
  check_norm(layer.norm);
  if (!layer.attention_norm && layer.norm.place != NormPlace::before)
    refuse(kDescriptionOperation, "a layer without a norm of attention needs norms before its parts");
  if (layer.kind == LayerKind::recurrent) return;
  check_attention(layer.attention);
  if (layer.attention.heads != description.heads()) {
    refuse(kDescriptionOperation, "a layer has ", layer.attention.heads, " heads, but the first has ",
           description.heads());
  }
  if (!layer.feed_forward) return;
  check_count("inner", layer.feed_forward->size, 1);
  if (layer.feed_forward->activation == Activation::silu && !layer.feed_forward->gated)
    refuse(kDescriptionOperation, "silu needs a gate, and the feed-forward part has none");
  if (layer.feed_forward->parallel && layer.norm.place != NormPlace::before)
    refuse(kDescriptionOperation, "a parallel feed-forward part needs norms that come before the parts");
}

}  // namespace

std::string ModelDescription::layer_name(std::int64_t number) const {
  const std::int64_t of_decoder = (number - encoder_layers + 1) / 2;
  switch (layer_kind(number)) {
    case LayerKind::whole:
    case LayerKind::recurrent:
      return std::to_string(number);
    case LayerKind::encoder:
      return joined("encoder ", number);
    case LayerKind::decoder:
      return joined("decoder ", of_decoder);
    case LayerKind::cross:
      return joined("cross ", of_decoder);
  }
  return {};
}

std::int64_t ModelDescription::largest_inner_size() const noexcept {
  std::int64_t largest = 0;
  for (const LayerDescription& layer : layers) {
    if (layer.feed_forward) largest = std::max(largest, layer.feed_forward->size);
  }
  return largest;
}

bool ModelDescription::is_causal() const noexcept {
  return !layers.empty() && layers.back().kind == LayerKind::whole && layers.back().attention.causal;
}

bool ModelDescription::uses(PositionKind kind) const noexcept {
  return positions == kind || std::any_of(layers.begin(), layers.end(), [&](const LayerDescription& layer) {
           return layer.attention.positions == kind;
         });
}

bool ModelDescription::rotation_changes(std::int64_t tokens_before,
                                        std::int64_t tokens_after) const noexcept {
  return std::any_of(layers.begin(), layers.end(), [&](const LayerDescription& layer) {
    return layer.attention.positions == PositionKind::rotary &&
           attend::rotation_changes(layer.attention.rotary, tokens_before, tokens_after);
  });
}

std::string_view name_of(NormKind kind) noexcept { return kind == NormKind::layer ? "layer" : "rms"; }

std::string_view name_of(NormPlace place) noexcept {
  constexpr std::string_view kNames[] = {"before", "after", "around", "inside"};
  return kNames[static_cast<std::size_t>(place)];
}

std::string_view name_of(PositionKind kind) noexcept {
  constexpr std::string_view kNames[] = {"none", "sinusoidal", "learned", "rotary", "alibi", "relative"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Activation activation) noexcept {
  constexpr std::string_view kNames[] = {"none", "gelu", "gelu_tanh", "relu", "silu"};
  return kNames[static_cast<std::size_t>(activation)];
}

std::string_view name_of(ScoreFunction function) noexcept {
  constexpr std::string_view kNames[] = {"identity", "sigmoid", "softmax"};
  return kNames[static_cast<std::size_t>(function)];
}

std::optional<ScoreFunction> score_function_named(std::string_view name) noexcept {
  for (const ScoreFunction known :
       {ScoreFunction::identity, ScoreFunction::sigmoid, ScoreFunction::softmax}) {
    if (name == name_of(known)) return known;
  }
  return std::nullopt;
}

void check(const ModelDescription& description) {
  check_count("vocabulary", description.vocabulary_size, 1);
  check_count("hidden", description.hidden_size, 1);
  check_count("length", description.max_tokens(), 1);
  if (!(description.embedding_scale > 0) || std::isinf(description.embedding_scale)) {
    refuse(kDescriptionOperation, "embedding_scale is ", description.embedding_scale,
           ", expected a positive finite number");
  }
  if (!(description.output_softcap >= 0) || std::isinf(description.output_softcap)) {
    refuse(kDescriptionOperation, "output_softcap is ", description.output_softcap,
           ", expected a finite number of at least 0");
  }
  check_count("the number of layers", description.layer_count(), 0, kMostModelLayers);
  for (const LayerDescription& layer : description.layers) check_layer(description, layer);
  for (std::size_t index = 0; index < description.layers.size(); ++index) check_shared(description, index);
  check_count("embedding_size", description.table_size(), 1);
  if (description.encoder_layers < 0 || description.encoder_layers > description.layer_count()) {
    refuse(kDescriptionOperation, "encoder_layers is ", description.encoder_layers, ", but there are ",
           description.layer_count(), " layers");
  }
}

}  // namespace attend
