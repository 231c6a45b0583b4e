// Gemma 2 and 3 (Gemma team 2024, 2025): norms around each part whose weights count as 1 + w, embeddings
// times sqrt(E), a scale of scores of its own, and windows on most layers.
#include <array>
#include <cmath>

#include "model/families/config_keys.h"
#include "model/families/decoder_config.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kGemma2Types = {"gemma2"};
constexpr std::array<std::string_view, 2> kGemma3Types = {"gemma3_text", "gemma3"};

LayerDescription gemma_layer(const io::JsonFields& config) {
  LayerDescription layer = llama_layer(read_epsilon(config, "rms_norm_eps", 1e-6));
  layer.norm.place = NormPlace::around;
  layer.norm.plus_one = true;
  layer.attention.bias = layer.attention.output_bias = config.boolean("attention_bias", false);
  layer.attention.scale = 1 / std::sqrt(read_positive(config, "query_pre_attn_scalar", 256));
  layer.feed_forward->activation = read_gate_activation(config, "hidden_activation", "gelu_pytorch_tanh");
  return layer;
}

// A cap that a file may switch off with null. 0: none.
double read_cap(const io::JsonFields& config, std::string_view key, double fallback) {
  if (config.is_null(key)) return 0;
  return config.has(key) ? read_positive(config, key, 1) : fallback;
}

ModelDescription gemma_model(const io::JsonFields& config, const DecoderSizes& sizes,
                             const LayerDescription& layer, double logit_cap,
                             std::string_view layer_type = {}) {
  ModelDescription description = decoder_of(sizes, layer);
  description.embedding_scale = std::sqrt(static_cast<double>(sizes.hidden));
  description.output_softcap = read_cap(config, "final_logit_softcapping", logit_cap);
  read_decoder_rest(config, description, true, layer_type);
  return description;
}

ModelDescription describe_gemma2(const io::JsonFields& config) {
  const DecoderSizes sizes = read_decoder_sizes(config, {.key_heads = 4, .head_size = 256});
  LayerDescription layer = gemma_layer(config);
  layer.attention.softcap = read_cap(config, "attn_logit_softcapping", 50);
  layer.attention.rotary = read_rotary(config, {.head_size = sizes.head_size, .positions = sizes.positions});
  ModelDescription description = gemma_model(config, sizes, layer, 30);
  refuse_unless(config, "use_bidirectional_attention", false);
  const std::vector<bool> sliding =
      read_layer_types(config, sizes.layers, [](std::int64_t index) { return index % 2 == 0; });
  const std::optional<std::int64_t> window = read_window(config, 4096);
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    if (sliding[i] && window) set_window(description.layers[i].attention, *window);
  }
  return description;
}

// Gemma 3's files of models that also see pictures have its keys inside text_config, and only those that
// differ from the usual ones.
constexpr DecoderSizes kUsualGemma3{.hidden = 2304,
                                    .layers = 26,
                                    .heads = 8,
                                    .key_heads = 4,
                                    .head_size = 256,
                                    .inner = 9216,
                                    .vocabulary = 262208,
                                    .positions = 131072};

void set_gemma3_layers(const io::JsonFields& config, const DecoderSizes& sizes,
                       ModelDescription& description) {
  const std::int64_t pattern = config.integer({"sliding_window_pattern"}, 1, io::kLargestSize, 6);
  const std::vector<bool> sliding =
      read_layer_types(config, sizes.layers, [&](std::int64_t index) { return (index + 1) % pattern != 0; });
  const std::optional<std::int64_t> window = read_window(config, 4096);
  const bool both_ways = config.boolean("use_bidirectional_attention", false);
  const RopeConfig rope{.head_size = sizes.head_size, .positions = sizes.positions};
  RopeConfig full = rope, local = rope;
  full.base = 1e6;
  full.layer_type = "full_attention";
  local.base_key = "rope_local_base_freq";
  local.layer_type = "sliding_attention";
  local.takes_scaling = false;
  const Rotary full_rotary = read_rotary(config, full), local_rotary = read_rotary(config, local);
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    AttentionDescription& attention = description.layers[i].attention;
    attention.rotary = sliding[i] ? local_rotary : full_rotary;
    if (both_ways) attention.causal = false;
    if (!sliding[i] || !window) continue;
    set_window(attention, *window);
    if (both_ways) attention.window = {.left = *window / 2, .right = *window / 2};
  }
}

ModelDescription describe_gemma3(const io::JsonFields& config) {
  const bool pictures = config.string("model_type", "") == "gemma3";
  const io::JsonFields* const inner = config.object("text_config");
  if (pictures && inner == nullptr) config.refuse("text_config", "is missing");
  const io::JsonFields& text = pictures ? *inner : config;
  if (config.has("quantization_config"))
    config.refuse("quantization_config", "quantized weights are not supported");
  const io::JsonFields* const rope = text.object("rope_parameters");
  if (rope != nullptr && !rope->has("full_attention") && !rope->has("sliding_attention"))
    text.refuse("rope_parameters", "expected full_attention and sliding_attention in it");
  const DecoderSizes sizes =
      read_decoder_sizes(text, pictures ? kUsualGemma3 : DecoderSizes{.key_heads = 4, .head_size = 256});
  LayerDescription layer = gemma_layer(text);
  layer.attention.query_key_norm = QueryKeyNorm::heads;
  ModelDescription description = gemma_model(text, sizes, layer, 0, "full_attention");
  set_gemma3_layers(text, sizes, description);
  return description;
}

TensorNames name_gemma3(const ModelDescription& description) {
  TensorNames names = llama_names(description);
  names.prefixes = {"model.", "", "language_model.model.", "model.language_model."};
  names.output.tables = {"lm_head.weight", "language_model.lm_head.weight"};
  return names;
}

}  // namespace

constinit const Family kGemma2{.name = "gemma2",
                               .model_types = kGemma2Types,
                               .describe = describe_gemma2,
                               .names = llama_names,
                               .replaces_code = true};
constinit const Family kGemma3{.name = "gemma3",
                               .model_types = kGemma3Types,
                               .describe = describe_gemma3,
                               .names = name_gemma3,
                               .replaces_code = true};

}  // namespace attend::model
