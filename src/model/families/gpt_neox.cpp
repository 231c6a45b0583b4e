// GPT-NeoX (Black et al. 2022) and Pythia: LayerNorm and biases, a part of each head that rotates, and a
// feed-forward part that reads what attention reads.
#include <array>

#include "model/families/config_keys.h"
#include "model/families/decoder_config.h"
#include "model/families/families.h"
#include "model/families/sequence_config.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kGptNeoxTypes = {"gpt_neox"};

ModelDescription describe_gpt_neox(const io::JsonFields& config) {
  const DecoderSizes sizes = read_decoder_sizes(config);
  if (sizes.key_heads != sizes.heads) config.refuse("num_key_value_heads", "is not supported in this family");
  if (sizes.head_size * sizes.heads != sizes.hidden)
    config.refuse("head_dim", "is not supported in this family");
  LayerDescription layer{.feed_forward = FeedForwardDescription{}};
  layer.norm = {.place = NormPlace::before, .epsilon = read_epsilon(config, "layer_norm_eps", 1e-5)};
  layer.attention.bias = layer.attention.output_bias = config.boolean("attention_bias", true);
  layer.attention.positions = PositionKind::rotary;
  layer.attention.rotary = read_rotary(config, {.head_size = sizes.head_size,
                                                .positions = sizes.positions,
                                                .base_key = "rotary_emb_base",
                                                .partial = true,
                                                .fraction = 0.25,
                                                .fraction_key = "rotary_pct"});
  layer.feed_forward->activation = read_activation(config, "hidden_act", "gelu");
  layer.feed_forward->parallel = config.boolean("use_parallel_residual", true);
  ModelDescription description = decoder_of(sizes, layer);
  read_decoder_rest(config, description, false);
  return description;
}

TensorNames name_gpt_neox(const ModelDescription& description) {
  TensorNames names{.words = "embed_in.weight",
                    .final_norm = "final_layer_norm",
                    .projected_by_head = true,
                    .prefixes = {"gpt_neox.", ""}};
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    names.layers.push_back({.projected = {layer + "attention.query_key_value"},
                            .out = layer + "attention.dense",
                            .attention_norm = layer + "input_layernorm",
                            .up = {layer + "mlp.dense_h_to_4h"},
                            .down = layer + "mlp.dense_4h_to_h",
                            .feed_forward_norm = layer + "post_attention_layernorm"});
  }
  names.output.tables = {"embed_out.weight", "lm_head.weight"};
  score_last_token(description, names);
  return names;
}

}  // namespace

constinit const Family kGptNeox{.name = "gpt_neox",
                                .model_types = kGptNeoxTypes,
                                .describe = describe_gpt_neox,
                                .names = name_gpt_neox,
                                .replaces_code = true};

}  // namespace attend::model
