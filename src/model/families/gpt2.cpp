// GPT-2 (Radford et al. 2019).
#include <array>
#include <nlohmann/json.hpp>

#include "model/families/config_keys.h"
#include "model/families/families.h"
#include "model/families/sequence_config.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kGpt2Types = {"gpt2"};

ModelDescription describe_gpt2(const io::JsonFields& config) {
  refuse_other_kinds(config);
  const ModelSizes sizes = read_sizes(config, 4);
  LayerDescription layer{.feed_forward = FeedForwardDescription{}};
  layer.norm = {.place = NormPlace::before, .epsilon = read_epsilon(config, "layer_norm_epsilon", 1e-5)};
  layer.feed_forward->activation = read_activation(config, "activation_function", "gelu_new");
  layer.attention.causal = true;
  refuse_unless(config, "scale_attn_weights", true);
  refuse_unless(config, "scale_attn_by_inverse_layer_idx", false);
  ModelDescription description = uniform_model(sizes, layer);
  read_pad_token(config, description);
  description.tied_output = config.boolean("tie_word_embeddings", true);
  description.sequence_head = read_last_token_head(config);
  return description;
}

TensorNames name_gpt2(const ModelDescription& description) {
  TensorNames names{.words = "wte.weight",
                    .positions = "wpe.weight",
                    .final_norm = "ln_f",
                    .input_first = true,
                    .prefixes = {"", "transformer."}};
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const std::string layer = "h." + std::to_string(i) + ".";
    names.layers.push_back({.projected = {layer + "attn.c_attn"},
                            .out = layer + "attn.c_proj",
                            .attention_norm = layer + "ln_1",
                            .up = {layer + "mlp.c_fc"},
                            .down = layer + "mlp.c_proj",
                            .feed_forward_norm = layer + "ln_2"});
  }
  names.output.tables = {"lm_head.weight"};
  score_last_token(description, names);
  return names;
}

bool stores_gpt2(const ModelDescription& description) {
  return description.tied_output && is_classic(description, NormPlace::before, true);
}

std::string gpt2_json(const ModelDescription& description) {
  const LayerDescription& layer = description.layers.front();
  const nlohmann::ordered_json json = {
      {"model_type", "gpt2"},
      {"architectures", {"GPT2LMHeadModel"}},
      {"vocab_size", description.vocabulary_size},
      {"n_positions", description.position_count},
      {"n_embd", description.hidden_size},
      {"n_layer", description.layer_count()},
      {"n_head", layer.attention.heads},
      {"n_inner", layer.feed_forward->size},
      {"activation_function", layer.feed_forward->activation == Activation::gelu ? "gelu" : "gelu_new"},
      {"layer_norm_epsilon", layer.norm.epsilon},
      {"tie_word_embeddings", true},
      {"bos_token_id", nullptr},
      {"eos_token_id", nullptr}};
  return json.dump(2) + "\n";
}

}  // namespace

constinit const Family kGpt2{"gpt2", kGpt2Types, describe_gpt2, name_gpt2, stores_gpt2, gpt2_json};

}  // namespace attend::model
