// MPNet (Song et al. 2020): scores depend on how far apart two tokens are, through a learned table.
#include <array>

#include "model/families/bert_names.h"
#include "model/families/config_keys.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kMpnetTypes = {"mpnet"};

ModelDescription describe_mpnet(const io::JsonFields& config) {
  refuse_other_kinds(config);
  const ModelSizes sizes = read_sizes(config);
  LayerDescription layer{.feed_forward = FeedForwardDescription{}};
  layer.norm.epsilon = read_epsilon(config, "layer_norm_eps", 1e-12);
  layer.feed_forward->activation = read_activation(config, "hidden_act", "gelu");
  layer.attention.positions = PositionKind::relative;
  // The family computes buckets for 32 up to a distance of 128, whatever its file says.
  layer.attention.relative_buckets = {
      .buckets = config.integer({"relative_attention_num_buckets"}, 32, 32, 32), .max_distance = 128};
  ModelDescription description = uniform_model(sizes, layer);
  read_pad_token(config, description);
  description.first_position = 2;  // whatever the padding token's id is
  require_positions(config, description);
  description.tied_output = config.boolean("tie_word_embeddings", true);
  return description;
}

TensorNames name_mpnet(const ModelDescription& description) {
  TensorNames names = bert_names(description, "mpnet");
  names.types.clear();
  names.relative_bias = "encoder.relative_attention_bias.weight";
  for (std::size_t i = 0; i < names.layers.size(); ++i) {
    const std::string attention = "encoder.layer." + std::to_string(i) + ".attention.";
    names.layers[i].projected = {attention + "attn.q", attention + "attn.k", attention + "attn.v"};
    names.layers[i].out = attention + "attn.o";
    names.layers[i].attention_norm = attention + "LayerNorm";
  }
  names.output = roberta_output_names();
  names.sequence = roberta_sequence_names();
  return names;
}

}  // namespace

constinit const Family kMpnet{"mpnet", kMpnetTypes, describe_mpnet, name_mpnet};

}  // namespace attend::model
