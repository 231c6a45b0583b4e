#include "learn/encoder_links.h"

#include <attend/encoder.h>
#include <attend/file_error.h>

#include "base/error.h"
#include "model/names.h"

namespace attend::learn {
namespace {

// Checkpoints made by old converters say gamma and beta.
void link_norm(const Checkpoint& checkpoint, const std::string& name, const std::string& parameter,
               std::vector<EncoderLink>& links) {
  const bool old = !checkpoint.contains(name + ".weight") && checkpoint.contains(name + ".gamma");
  links.push_back({.tensor = name + (old ? ".gamma" : ".weight"), .parameter = parameter + ".gamma"});
  links.push_back({.tensor = name + (old ? ".beta" : ".bias"), .parameter = parameter + ".beta"});
}

void link_linear(const std::string& name, const std::string& parameter, int third,
                 std::vector<EncoderLink>& links) {
  links.push_back(
      {.tensor = name + ".weight", .parameter = parameter + ".weight", .third = third, .turned = true});
  links.push_back({.tensor = name + ".bias", .parameter = parameter + ".bias", .third = third});
}

bool has_types(const ModelConfig& config) {
  return config.token_types > 0 &&
         (config.family == ModelFamily::bert || config.family == ModelFamily::roberta);
}

}  // namespace

Dims EncoderLink::shape(const train::Parameters& parameters) const {
  Dims shape = parameters[parameters.find(parameter)].shape;
  if (third >= 0) shape[shape.rank() - 1] /= 3;
  if (turned) std::swap(shape[0], shape[1]);
  return shape;
}

TensorView EncoderLink::view(train::Model& model) const {
  train::Parameters& parameters = model.parameters();
  TensorView value = parameters.value(parameters.find(parameter));
  if (third >= 0) {
    const int axis = value.rank() - 1;
    const std::int64_t size = value.size(axis) / 3;
    value = value.slice(axis, third * size, (third + 1) * size);
  }
  return turned ? value.transposed(0, 1) : value;
}

train::ModelShape encoder_shape(const ModelConfig& config, const std::string& file) {
  const bool known = config.family == ModelFamily::bert || config.family == ModelFamily::roberta ||
                     config.family == ModelFamily::distilbert;
  if (!known) {
    throw FileError(file, "model_type",
                    joined('"', config.model_type,
                           "\" is a family that pairs does not train: bert, roberta, xlm-roberta and "
                           "distilbert are those that it does"));
  }
  if (config.activation != Activation::gelu && config.activation != Activation::gelu_tanh) {
    throw FileError(file, "hidden_act",
                    "is an activation that pairs does not train: expected a form of gelu");
  }
  return {.kind = train::ModelKind::encoder,
          .vocabulary = config.vocabulary_size,
          .layers = config.layers,
          .hidden = config.hidden_size,
          .heads = config.heads,
          .inner = config.intermediate_size,
          .norm_first = false,
          .feed_forward = config.activation == Activation::gelu ? train::FeedForwardKind::gelu
                                                                : train::FeedForwardKind::gelu_tanh,
          .typed = has_types(config),
          .guesses = false,
          .epsilon = config.layer_norm_eps};
}

std::vector<EncoderLink> encoder_links(const ModelConfig& config, const Checkpoint& checkpoint) {
  const Names names = names_of(config, tensors_of(checkpoint));
  std::vector<EncoderLink> links;
  links.push_back({.tensor = names.embeddings.words, .parameter = "words"});
  links.push_back(
      {.tensor = names.embeddings.positions, .parameter = "positions", .row = config.first_position});
  if (has_types(config)) links.push_back({.tensor = names.embeddings.types, .parameter = "type", .row = 0});
  link_norm(checkpoint, names.embeddings.norm, "embedding.norm", links);
  for (std::int64_t index = 0; index < config.layers; ++index) {
    const LayerNames layer = names.layer(index);
    const std::string own = "layer." + std::to_string(index);
    for (std::size_t third = 0; third < 3; ++third)
      link_linear(layer.qkv[third], own + ".attention.qkv", static_cast<int>(third), links);
    link_linear(layer.out, own + ".attention.out", -1, links);
    link_norm(checkpoint, layer.attention_norm, own + ".attention.norm", links);
    link_linear(layer.up, own + ".feed_forward.up", -1, links);
    link_linear(layer.down, own + ".feed_forward.down", -1, links);
    link_norm(checkpoint, layer.output_norm, own + ".feed_forward.norm", links);
  }
  return links;
}

}  // namespace attend::learn
