#include "train/model_parameters.h"

#include <cmath>

#include "base/error.h"
#include "model/own_model.h"

namespace attend::train {
namespace {

using model::LayerNames;

double deviation_for(std::int64_t in) { return 1 / std::sqrt(static_cast<double>(in)); }

class Adding {
 public:
  Adding(Parameters& parameters, const ModelDescription& description)
      : parameters_(parameters), hidden_(description.hidden_size) {
    const std::int64_t depth =
        description.has_source() ? description.encoder_layers : description.layer_count();
    // Products that add to the stream start smaller in a deep model, so that the sum of all layers does not
    // grow.
    added_ = std::sqrt(2.0 * static_cast<double>(depth));
  }

  LinearPlaces linear(const std::string& name, std::int64_t in, std::int64_t out, double deviation,
                      bool bias) {
    LinearPlaces places{.weight = parameters_.add(name + ".weight", {in, out}, 0, deviation)};
    if (bias) places.bias = parameters_.add(name + ".bias", {out}, 0, 0);
    return places;
  }

  NormPlaces norm(const std::string& name, NormKind kind) { return norm(name, kind, hidden_); }
  NormPlaces norm(const std::string& name, NormKind kind, std::int64_t size) {
    NormPlaces places{.gamma = parameters_.add(name + ".gamma", {size}, 1, 0)};
    if (kind == NormKind::layer) places.beta = parameters_.add(name + ".beta", {size}, 0, 0);
    return places;
  }

  void attention(const LayerDescription& layer, const LayerNames& names, LayerPlaces& places) {
    const AttentionDescription& attention = layer.attention;
    const std::int64_t q = model::query_columns(attention), k = model::key_columns(attention);
    const double start = deviation_for(hidden_);
    places.projected =
        linear(names.projected.front(), hidden_, model::projected_columns(layer), start, attention.bias);
    if (layer.kind == LayerKind::cross)
      places.context = linear(names.context.front(), hidden_, 2 * k, start, attention.bias);
    if (attention.query_key_norm != QueryKeyNorm::none) {
      const bool heads = attention.query_key_norm == QueryKeyNorm::heads;
      places.query_norm = norm(names.query_norm, layer.norm.kind, heads ? attention.head_size : q);
      places.key_norm = norm(names.key_norm, layer.norm.kind, heads ? attention.head_size : k);
    }
    places.out = linear(names.out, q, hidden_, start / added_, attention.output_bias);
    places.attention_norm = norm(names.attention_norm, layer.norm.kind);
  }

  void feed_forward(const LayerDescription& layer, const LayerNames& names, LayerPlaces& places) {
    if (!layer.feed_forward) return;
    const FeedForwardDescription& part = *layer.feed_forward;
    places.up =
        linear(names.up.front(), hidden_, model::product_size(part), deviation_for(hidden_), part.bias);
    places.down = linear(names.down, part.size, hidden_, deviation_for(part.size) / added_, part.bias);
    places.feed_forward_norm = norm(names.feed_forward_norm, layer.norm.kind);
  }

  LayerPlaces layer(const LayerDescription& layer, const LayerNames& names) {
    LayerPlaces places;
    // A decoder's feed-forward part has its parameters before those of the attention to a source.
    const bool cross = layer.kind == LayerKind::cross;
    if (!cross) attention(layer, names, places);
    feed_forward(layer, names, places);
    if (cross) attention(layer, names, places);
    return places;
  }

 private:
  Parameters& parameters_;
  std::int64_t hidden_;
  double added_;
};

TensorView value_if(Parameters& parameters, int place) {
  return place < 0 ? TensorView() : parameters.value(place);
}
TensorView gradient_if(Parameters& parameters, int place) {
  return place < 0 ? TensorView() : parameters.gradient(place);
}

}  // namespace

ModelPlaces add_parameters(Parameters& parameters, const ModelDescription& description, bool guesses) {
  const std::int64_t e = description.hidden_size;
  const double deviation = 0.5 / std::sqrt(static_cast<double>(e));
  const model::TensorNames names = model::own_names(description);
  Adding adding(parameters, description);
  ModelPlaces places;
  places.words = parameters.add(names.words, {description.vocabulary_size, e}, 0, deviation);
  if (description.positions == PositionKind::learned)
    places.positions = parameters.add(names.positions, {description.max_tokens(), e}, 0, deviation);
  if (description.token_types > 0) places.type = parameters.add(names.types, {1, e}, 0, deviation);
  const auto add_layers = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const auto at = static_cast<std::size_t>(i);
      places.layers.push_back(adding.layer(description.layers[at], names.layers[at]));
    }
  };
  const auto add_norm = [&](const std::optional<NormDescription>& norm, const std::string& name) {
    return norm ? adding.norm(name, norm->kind) : NormPlaces();
  };
  if (description.has_source()) {
    places.source_embedding_norm = add_norm(description.embedding_norm, names.source_embedding_norm);
    add_layers(0, description.encoder_layers);
    places.source_final_norm = add_norm(description.final_norm, names.source_final_norm);
  }
  places.embedding_norm = add_norm(description.embedding_norm, names.embedding_norm);
  add_layers(description.encoder_layers, description.layer_count());
  places.final_norm = add_norm(description.final_norm, names.final_norm);
  places.output = add_output(parameters, description, guesses);
  return places;
}

int add_output(Parameters& parameters, const ModelDescription& description, bool guesses) {
  if (!guesses || description.tied_output) return -1;
  const std::int64_t e = description.hidden_size;
  return parameters.add(model::own_names(description).output.tables.front(), {e, description.vocabulary_size},
                        0, deviation_for(e));
}

model::NormWeights norm_weights(Parameters& parameters, const NormPlaces& places) {
  return {value_if(parameters, places.gamma), value_if(parameters, places.beta)};
}

model::NormGradients norm_gradients(Parameters& parameters, const NormPlaces& places) {
  return {gradient_if(parameters, places.gamma), gradient_if(parameters, places.beta)};
}

namespace {

// Something for each part of a layer: linear(places), norm(places).
template <class Layer, class Linear, class Norm>
Layer each_part(const LayerPlaces& places, const Linear& linear, const Norm& norm) {
  return {.projected = linear(places.projected),
          .context = linear(places.context),
          .out = linear(places.out),
          .up = linear(places.up),
          .down = linear(places.down),
          .query_norm = norm(places.query_norm),
          .key_norm = norm(places.key_norm),
          .attention_norm = norm(places.attention_norm),
          .feed_forward_norm = norm(places.feed_forward_norm)};
}

}  // namespace

model::LayerWeights layer_weights(Parameters& parameters, const LayerPlaces& places,
                                  const std::function<model::Operand(int parameter)>& operand) {
  const auto linear = [&](const LinearPlaces& part) {
    if (part.weight < 0) return model::LinearWeights();
    return model::LinearWeights{operand(part.weight), value_if(parameters, part.bias)};
  };
  return each_part<model::LayerWeights>(
      places, linear, [&](const NormPlaces& part) { return norm_weights(parameters, part); });
}

model::LayerGradients layer_gradients(Parameters& parameters, const LayerPlaces& places) {
  return each_part<model::LayerGradients>(
      places,
      [&](const LinearPlaces& part) {
        return model::LinearGradients{gradient_if(parameters, part.weight),
                                      gradient_if(parameters, part.bias)};
      },
      [&](const NormPlaces& part) { return norm_gradients(parameters, part); });
}

void require_learnable(const ModelDescription& description) {
  if (description.embedding_scale != 1) refuse("train", "a scale of the embeddings cannot be trained here");
  if (description.output_softcap > 0) refuse("train", "a cap on logits cannot be trained here");
  if (description.embedding_size) {
    refuse("train", "a linear layer after the embeddings cannot be trained here: their rows have ",
           *description.embedding_size, " elements, and the hidden vectors ", description.hidden_size);
  }
  for (const LayerDescription& layer : description.layers) {
    if (layer.attention.positions == PositionKind::relative)
      refuse("train", "tables of relative positions cannot be trained here");
    if (layer.attention.sinks) refuse("train", "attention sinks cannot be trained here");
    if (layer.norm.plus_one)
      refuse("train", "norms whose weights are stored as w for 1 + w cannot be trained here");
    if (layer.attention.positions == PositionKind::rotary && layer.attention.rotary.long_text > 0)
      refuse("train", "rotary positions that depend on the length of a text cannot be trained here");
    if (layer.weights_of) refuse("train", "layers that share their weights cannot be trained here");
    if (!layer.attention_norm || (layer.norm.kind == NormKind::layer && !layer.norm.bias))
      refuse("train", "layers without a norm, and norms without a bias, cannot be trained here");
    if (layer.norm.place == NormPlace::around || layer.norm.place == NormPlace::inside)
      refuse("train", "norms of a part's output cannot be trained here");
  }
}

}  // namespace attend::train
