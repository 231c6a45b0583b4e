// ALBERT (Lan et al. 2019): BERT whose layers share their weights, in one group or a few.
#include <array>

#include "model/families/bert_names.h"
#include "model/families/config_keys.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kAlbertTypes = {"albert"};

// The group of a layer, both from 0, found as the family's own code finds it: by a quotient of floats.
std::int64_t group_of(std::int64_t index, std::int64_t layers, std::int64_t groups) {
  const double layers_per_group = static_cast<double>(layers) / static_cast<double>(groups);
  return static_cast<std::int64_t>(static_cast<double>(index) / layers_per_group);
}

ModelDescription describe_albert(const io::JsonFields& config) {
  refuse_other_kinds(config);
  const ModelSizes sizes = read_sizes(config);
  LayerDescription layer{.feed_forward = FeedForwardDescription{}};
  layer.feed_forward->activation = read_activation(config, "hidden_act", "gelu_new");
  layer.norm.epsilon = read_epsilon(config, "layer_norm_eps", 1e-12);
  ModelDescription description = uniform_model(sizes, layer);
  read_pad_token(config, description);
  description.token_types = config.integer({"type_vocab_size"}, 0, io::kLargestSize, 2);
  description.embedding_size = config.integer({"embedding_size"}, 1, io::kLargestSize, 128);
  description.tied_output = config.boolean("tie_word_embeddings", true);
  if (config.integer({"inner_group_num"}, 1, io::kLargestSize, 1) != 1)
    config.refuse("inner_group_num", "groups of several layers are not supported, expected 1");
  const std::int64_t groups = config.integer({"num_hidden_groups"}, 1, sizes.layers, 1);
  std::int64_t owner = 0;  // the index of the first layer of the group
  for (std::int64_t i = 1; i < sizes.layers; ++i) {
    if (group_of(i, sizes.layers, groups) != group_of(owner, sizes.layers, groups)) {
      owner = i;
    } else {
      description.layers[static_cast<std::size_t>(i)].weights_of = owner + 1;
    }
  }
  return description;
}

TensorNames name_albert(const ModelDescription& description) {
  TensorNames names = bert_embedding_names("albert");
  names.embedding_projection = "encoder.embedding_hidden_mapping_in";
  std::int64_t group = -1;
  for (const LayerDescription& described : description.layers) {
    if (!described.weights_of) ++group;
    const std::string layer = "encoder.albert_layer_groups." + std::to_string(group) + ".albert_layers.0.";
    const std::string attention = layer + "attention.";
    names.layers.push_back({.projected = {attention + "query", attention + "key", attention + "value"},
                            .out = attention + "dense",
                            .attention_norm = attention + "LayerNorm",
                            .up = {layer + "ffn"},
                            .down = layer + "ffn_output",
                            .feed_forward_norm = layer + "full_layer_layer_norm"});
  }
  names.output = {.dense = "predictions.dense",
                  .norm = "predictions.LayerNorm",
                  .tables = {"predictions.decoder.weight"},
                  .biases = {"predictions.bias", "predictions.decoder.bias"}};
  names.sequence = {.dense = "pooler", .score = "classifier", .pooler = true};
  return names;
}

}  // namespace

constinit const Family kAlbert{"albert", kAlbertTypes, describe_albert, name_albert};

}  // namespace attend::model
