// Nomic BERT (Nussbaum et al. 2024): BERT with rotary positions and gates, published with its own code, whose
// keys it has; transformers' are read as well.
#include <algorithm>
#include <array>

#include "model/families/bert_names.h"
#include "model/families/config_keys.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kNomicBertTypes = {"nomic_bert"};

void refuse_unknown_nomic(const io::JsonFields& config) {
  refuse_other_kinds(config);
  for (const std::string_view key : {"num_experts", "moe_every_n_layers"}) {
    if (config.integer({key}, 0, io::kLargestSize, 0) > 0)
      config.refuse(key, "mixtures of experts are not supported");
  }
  for (const std::string_view key :
       {"prenorm", "use_rms_norm", "causal", "parallel_block", "scale_attn_by_inverse_layer_idx"})
    refuse_unless(config, key, false);
  refuse_unless(config, "scale_attn_weights", true);
  for (const std::string_view key : {"rotary_emb_scale_base", "rope_scaling"})
    if (config.has(key)) config.refuse(key, "is not supported in this family");
}

Rotary read_nomic_rotary(const io::JsonFields& config, std::int64_t head_size) {
  Rotary rotary;
  rotary.base = read_rotary_base(config, "rotary_emb_base", 1000);
  if (const io::JsonFields* const newer = config.object("rope_parameters")) {
    require_plain_rotary(*newer);
    rotary.base = read_rotary_base(*newer, "rope_theta", rotary.base);
  }
  const double fraction = config.number("rotary_emb_fraction", 1);
  const auto turning = static_cast<std::int64_t>(static_cast<double>(head_size) * fraction);
  if (!(fraction > 0 && fraction <= 1) || turning < 2 || turning % 2 != 0) {
    config.refuse("rotary_emb_fraction", fraction, " of a head's ", head_size,
                  " dimensions cannot be rotated in pairs");
  }
  rotary.dimensions = turning;
  if (config.boolean("rotary_emb_interleaved", false)) rotary.pairing = RotaryPairing::interleaved;
  return rotary;
}

FeedForwardDescription read_nomic_feed_forward(const io::JsonFields& config) {
  FeedForwardDescription part{.gated = true};
  const std::string_view key = config.has("activation_function") ? "activation_function" : "hidden_act";
  const std::string_view name = config.string(key, "swiglu");
  if (name != "swiglu" && name != "silu" && name != "geglu") {
    config.refuse(key, "\"", io::shown(name),
                  "\" is not a gate that attend supports in this family: swiglu, geglu");
  }
  part.activation = name == "geglu" ? Activation::gelu : Activation::silu;
  part.bias = config.boolean("mlp_fc1_bias", false);
  if (config.boolean("mlp_fc2_bias", part.bias) != part.bias)
    config.refuse("mlp_fc2_bias", "is not supported where it differs from mlp_fc1_bias");
  return part;
}

ModelDescription describe_nomic_bert(const io::JsonFields& config) {
  refuse_unknown_nomic(config);
  const ModelSizes sizes = read_sizes(config);
  const FeedForwardDescription feed_forward = read_nomic_feed_forward(config);
  LayerDescription layer;
  layer.feed_forward = feed_forward;
  layer.norm.epsilon =
      read_epsilon(config, config.has("layer_norm_epsilon") ? "layer_norm_epsilon" : "layer_norm_eps", 1e-12);
  layer.attention.bias = layer.attention.output_bias = config.boolean("qkv_proj_bias", false);
  layer.attention.positions = PositionKind::rotary;
  const std::int64_t head_size = sizes.hidden / sizes.heads;
  layer.attention.rotary = read_nomic_rotary(config, head_size);
  if (config.integer({"head_dim"}, 1, io::kLargestSize, head_size) != head_size)
    config.refuse("head_dim", "expected the hidden size by the number of heads, ", head_size);
  ModelDescription description = uniform_model(sizes, layer);
  read_pad_token(config, description);
  description.positions = PositionKind::none;
  description.token_types = config.integer({"type_vocab_size"}, 0, io::kLargestSize, 2);
  description.tied_output = config.boolean("tie_word_embeddings", true);
  // With a factor the base grows in texts that are longer than those of its training; shorter ones are as
  // without, and longer ones are refused.
  if (config.has("rotary_scaling_factor") && config.number("rotary_scaling_factor", 0) > 0) {
    description.position_count =
        std::min(sizes.positions, config.integer({"max_trained_positions"}, 1, io::kLargestSize, 2048));
  }
  return description;
}

TensorNames name_nomic_bert(const ModelDescription& description) {
  TensorNames names{.words = "embeddings.word_embeddings.weight",
                    .types = "embeddings.token_type_embeddings.weight",
                    .embedding_norm = "emb_ln",
                    .prefixes = {"", "bert.", "nomic_bert."}};
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const std::string layer = "encoder.layers." + std::to_string(i) + ".";
    names.layers.push_back({.projected = {layer + "attn.Wqkv"},
                            .out = layer + "attn.out_proj",
                            .attention_norm = layer + "norm1",
                            .up = {layer + "mlp.fc12", layer + "mlp.fc11"},  // the gate is the second
                            .down = layer + "mlp.fc2",
                            .feed_forward_norm = layer + "norm2"});
  }
  names.output = {.dense = "cls.predictions.transform.dense",
                  .norm = "cls.predictions.transform.layer_norm",
                  .dense_bias = false,
                  .tables = {"cls.predictions.decoder.weight"},
                  .biases = {"cls.predictions.decoder.bias", "cls.predictions.bias"}};
  names.sequence = pooler_names();
  return names;
}

}  // namespace

constinit const Family kNomicBert{.name = "nomic_bert",
                                  .model_types = kNomicBertTypes,
                                  .describe = describe_nomic_bert,
                                  .names = name_nomic_bert,
                                  .replaces_code = true};

}  // namespace attend::model
