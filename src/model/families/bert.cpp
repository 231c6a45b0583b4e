// BERT (Devlin et al. 2018).
#include <array>
#include <nlohmann/json.hpp>

#include "model/families/bert_names.h"
#include "model/families/config_keys.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kBertTypes = {"bert"};

ModelDescription describe_bert(const io::JsonFields& config) {
  refuse_other_kinds(config);
  const ModelSizes sizes = read_sizes(config);
  LayerDescription layer{.feed_forward = FeedForwardDescription{}};
  layer.feed_forward->activation = read_activation(config, "hidden_act", "gelu");
  layer.norm.epsilon = read_epsilon(config, "layer_norm_eps", 1e-12);
  ModelDescription description = uniform_model(sizes, layer);
  read_pad_token(config, description);
  description.token_types = config.integer({"type_vocab_size"}, 0, io::kLargestSize, 2);
  description.tied_output = config.boolean("tie_word_embeddings", true);
  return description;
}

TensorNames name_bert(const ModelDescription& description) {
  TensorNames names = bert_names(description, "bert");
  names.output = {.dense = "cls.predictions.transform.dense",
                  .norm = "cls.predictions.transform.LayerNorm",
                  .tables = {"cls.predictions.decoder.weight"},
                  .biases = {"cls.predictions.bias", "cls.predictions.decoder.bias"}};
  names.sequence = pooler_names();
  return names;
}

// An encoder. BERT's file has no place for its output layer, which is left out.
bool stores_bert(const ModelDescription& description) {
  return is_classic(description, NormPlace::after, false);
}

std::string bert_json(const ModelDescription& description) {
  const LayerDescription& layer = description.layers.front();
  const nlohmann::ordered_json json = {
      {"model_type", "bert"},
      {"architectures", {"BertModel"}},
      {"vocab_size", description.vocabulary_size},
      {"max_position_embeddings", description.position_count},
      {"hidden_size", description.hidden_size},
      {"num_hidden_layers", description.layer_count()},
      {"num_attention_heads", layer.attention.heads},
      {"intermediate_size", layer.feed_forward->size},
      {"type_vocab_size", 2},
      {"hidden_act", layer.feed_forward->activation == Activation::gelu ? "gelu" : "gelu_new"},
      {"layer_norm_eps", layer.norm.epsilon},
      {"pad_token_id", nullptr}};
  return json.dump(2) + "\n";
}

}  // namespace

constinit const Family kBert{"bert", kBertTypes, describe_bert, name_bert, stores_bert, bert_json};

}  // namespace attend::model
