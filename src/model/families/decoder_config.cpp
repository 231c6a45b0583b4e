#include "model/families/decoder_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/families/config_keys.h"
#include "model/families/sequence_config.h"

namespace attend::model {
namespace {

constexpr std::int64_t kMostDecoderLayers = 4096;  // far more than any model has

// Of models that share a name with a family, and compute something else.
void refuse_other_decoders(const io::JsonFields& config) {
  refuse_other_kinds(config);
  for (const std::string_view key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (config.integer({key}, 0, io::kLargestSize, 0) > 1)
      config.refuse(key, "a mixture of experts is not supported");
  }
  for (const std::string_view key : {"logit_scale", "logits_scaling", "residual_multiplier",
                                     "embedding_multiplier", "attention_multiplier"}) {
    if (config.number(key, 1) != 1) config.refuse(key, "is not supported, expected 1");
  }
  for (const std::string_view key : {"clip_qkv", "attention_chunk_size"}) {
    if (config.has(key)) config.refuse(key, "is not supported");
  }
  refuse_unless(config, "alibi", false);
}

void read_end_tokens(const io::JsonFields& config, ModelDescription& description) {
  constexpr std::string_view kKey = "eos_token_id";
  constexpr std::size_t kMostEnds = 1024;
  std::vector<double> ids;
  if (config.is_list(kKey)) {
    ids = config.numbers(kKey, kMostEnds);
  } else if (config.has(kKey)) {
    ids = {config.number(kKey, 0)};
  }
  for (const double id : ids) {
    if (id != std::floor(id)) config.refuse(kKey, id, " is not an id");
    if (id >= 0 && id < static_cast<double>(description.vocabulary_size))  // others are never written
      description.end_tokens.push_back(static_cast<std::int32_t>(id));
  }
}

}  // namespace

DecoderSizes read_decoder_sizes(const io::JsonFields& config, const DecoderSizes& fallback) {
  const auto size = [&](std::string_view key, std::int64_t otherwise, std::int64_t most = io::kLargestSize) {
    return otherwise == 0 ? config.integer({key}, 1, most) : config.integer({key}, 1, most, otherwise);
  };
  DecoderSizes sizes{.hidden = size("hidden_size", fallback.hidden),
                     .layers = size("num_hidden_layers", fallback.layers, kMostDecoderLayers),
                     .heads = size("num_attention_heads", fallback.heads),
                     .inner = size("intermediate_size", fallback.inner),
                     .vocabulary = size("vocab_size", fallback.vocabulary),
                     .positions = size("max_position_embeddings", fallback.positions)};
  const bool own = config.is_null("num_key_value_heads") || fallback.key_heads == 0;
  sizes.key_heads = size("num_key_value_heads", own ? sizes.heads : fallback.key_heads);
  if (sizes.heads % sizes.key_heads != 0) {
    config.refuse("num_key_value_heads", sizes.key_heads, " does not divide the ", sizes.heads, " heads");
  }
  if (!config.has("head_dim") && fallback.head_size == 0 && sizes.hidden % sizes.heads != 0) {
    config.refuse("num_attention_heads", sizes.heads, " does not divide the hidden size ", sizes.hidden);
  }
  sizes.head_size =
      size("head_dim", fallback.head_size == 0 ? std::max<std::int64_t>(1, sizes.hidden / sizes.heads)
                                               : fallback.head_size);
  if (sizes.heads * sizes.head_size > io::kLargestSize) {
    config.refuse("head_dim", sizes.heads, " heads of ", sizes.head_size, " dimensions are more than ",
                  io::kLargestSize);
  }
  return sizes;
}

LayerDescription llama_layer(double epsilon) {
  LayerDescription layer{
      .norm = {.kind = NormKind::rms, .place = NormPlace::before, .epsilon = epsilon},
      .attention = {.bias = false, .output_bias = false, .causal = true, .positions = PositionKind::rotary},
      .feed_forward = FeedForwardDescription{.activation = Activation::silu, .gated = true, .bias = false}};
  return layer;
}

LayerDescription read_llama_layer(const io::JsonFields& config, const DecoderSizes& sizes, double epsilon) {
  LayerDescription layer = llama_layer(read_epsilon(config, "rms_norm_eps", epsilon));
  layer.attention.rotary = read_rotary(config, {.head_size = sizes.head_size, .positions = sizes.positions});
  layer.feed_forward->activation = read_gate_activation(config, "hidden_act", "silu");
  return layer;
}

ModelDescription decoder_of(const DecoderSizes& sizes, LayerDescription layer) {
  layer.attention.heads = sizes.heads;
  layer.attention.key_heads = sizes.key_heads;
  layer.attention.head_size = sizes.head_size;
  layer.feed_forward->size = sizes.inner;
  ModelDescription description;
  description.hidden_size = sizes.hidden;
  description.vocabulary_size = sizes.vocabulary;
  description.positions = PositionKind::none;
  description.position_count = sizes.positions;
  description.final_norm = layer.norm;
  description.layers.assign(static_cast<std::size_t>(sizes.layers), layer);
  return description;
}

void read_decoder_rest(const io::JsonFields& config, ModelDescription& description, bool tied,
                       std::string_view layer_type) {
  refuse_other_decoders(config);
  description.position_count = stretched_positions(config, description.position_count, layer_type);
  description.tied_output = config.boolean("tie_word_embeddings", tied);
  const bool causal = config.boolean("is_causal", true);
  for (LayerDescription& layer : description.layers) layer.attention.causal = causal;
  read_end_tokens(config, description);
  description.sequence_head = read_last_token_head(config);
}

Activation read_gate_activation(const io::JsonFields& config, std::string_view key,
                                std::string_view fallback) {
  const std::string_view name = config.string(key, fallback);
  return name == "silu" || name == "swish" ? Activation::silu : read_activation(config, key, fallback);
}

std::optional<std::int64_t> read_window(const io::JsonFields& config, std::optional<std::int64_t> fallback) {
  constexpr std::string_view kKey = "sliding_window";
  if (config.is_null(kKey)) return std::nullopt;
  if (!config.has(kKey)) return fallback;
  return config.integer({kKey}, 1, io::kLargestSize);
}

void set_window(AttentionDescription& attention, std::int64_t window) {
  attention.window = attention.causal ? Window{.left = window - 1, .right = Window::kUnlimited}
                                      : Window{.left = window, .right = window};
}

std::vector<bool> read_layer_types(const io::JsonFields& config, std::int64_t layers,
                                   const std::function<bool(std::int64_t)>& slides) {
  constexpr std::string_view kKey = "layer_types";
  std::vector<bool> sliding;
  const std::vector<std::string_view> types = config.strings(kKey, static_cast<std::size_t>(layers));
  for (const std::string_view type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      config.refuse(kKey, "\"", io::shown(type),
                    "\" is not one that attend supports: full_attention, sliding_attention");
    }
    sliding.push_back(type == "sliding_attention");
  }
  if (config.has(kKey) && std::ssize(types) != layers)
    config.refuse(kKey, "names ", types.size(), " layers, and the model has ", layers);
  for (std::int64_t i = std::ssize(sliding); i < layers; ++i) sliding.push_back(slides(i));
  return sliding;
}

void read_qwen_windows(const io::JsonFields& config, ModelDescription& description) {
  const std::optional<std::int64_t> window =
      config.boolean("use_sliding_window", false) ? read_window(config, 4096) : std::nullopt;
  const std::int64_t first = config.integer({"max_window_layers"}, 0, io::kLargestSize, 28);
  const std::vector<bool> sliding = read_layer_types(
      config, description.layer_count(), [&](std::int64_t index) { return window && index >= first; });
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    if (sliding[i] && window) set_window(description.layers[i].attention, *window);
  }
}

TensorNames llama_names(const ModelDescription& description) {
  TensorNames names{.words = "embed_tokens.weight", .final_norm = "norm", .prefixes = {"model.", ""}};
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const LayerDescription& layer = description.layers[static_cast<std::size_t>(i)];
    const std::string prefix = "layers." + std::to_string(i) + ".", attention = prefix + "self_attn.";
    LayerNames& own = names.layers.emplace_back();
    own.projected = {attention + "q_proj", attention + "k_proj", attention + "v_proj"};
    own.out = attention + "o_proj";
    own.up = {prefix + "mlp.gate_proj", prefix + "mlp.up_proj"};
    own.down = prefix + "mlp.down_proj";
    if (layer.attention.query_key_norm != QueryKeyNorm::none) {
      own.query_norm = attention + "q_norm";
      own.key_norm = attention + "k_norm";
    }
    const bool inside = layer.norm.place == NormPlace::inside, around = layer.norm.place == NormPlace::around;
    own.attention_norm = prefix + (inside ? "post_attention_layernorm" : "input_layernorm");
    own.feed_forward_norm = prefix + (inside   ? "post_feedforward_layernorm"
                                      : around ? "pre_feedforward_layernorm"
                                               : "post_attention_layernorm");
    if (!around) continue;
    own.attention_out_norm = prefix + "post_attention_layernorm";
    own.feed_forward_out_norm = prefix + "post_feedforward_layernorm";
  }
  names.output.tables = {"lm_head.weight"};
  score_last_token(description, names);
  return names;
}

}  // namespace attend::model
