// DistilBERT (Sanh et al. 2019): BERT without token types, and with names of its own.
#include <array>

#include "model/families/bert_names.h"
#include "model/families/config_keys.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kDistilbertTypes = {"distilbert"};

ModelDescription describe_distilbert(const io::JsonFields& config) {
  refuse_other_kinds(config);
  const ModelSizes sizes = read_sizes(config);
  LayerDescription layer{.feed_forward = FeedForwardDescription{}};
  layer.norm.epsilon = 1e-12;  // whatever the file says
  layer.feed_forward->activation = read_activation(config, "activation", "gelu");
  ModelDescription description = uniform_model(sizes, layer);
  read_pad_token(config, description);
  description.tied_output = config.boolean("tie_word_embeddings", true);
  return description;
}

TensorNames name_distilbert(const ModelDescription& description) {
  TensorNames names = bert_embedding_names("distilbert");
  names.types.clear();
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const std::string layer = "transformer.layer." + std::to_string(i) + ".",
                      attention = layer + "attention.";
    names.layers.push_back({.projected = {attention + "q_lin", attention + "k_lin", attention + "v_lin"},
                            .out = attention + "out_lin",
                            .attention_norm = layer + "sa_layer_norm",
                            .up = {layer + "ffn.lin1"},
                            .down = layer + "ffn.lin2",
                            .feed_forward_norm = layer + "output_layer_norm"});
  }
  names.output = {.dense = "vocab_transform",
                  .norm = "vocab_layer_norm",
                  .tables = {"vocab_projector.weight"},
                  .biases = {"vocab_projector.bias"}};
  names.sequence = {.dense = "pre_classifier", .score = "classifier", .activation = SequenceActivation::relu};
  return names;
}

}  // namespace

constinit const Family kDistilbert{"distilbert", kDistilbertTypes, describe_distilbert, name_distilbert};

}  // namespace attend::model
