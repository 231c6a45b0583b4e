#include "model/families/config_keys.h"

#include <algorithm>

#include "io/fail.h"

namespace attend::model {
namespace {

// Far more than any model has.
constexpr std::int64_t kMostConfiguredLayers = 4096;

}  // namespace

ModelSizes read_sizes(const io::JsonFields& config, std::int64_t inner_per_hidden) {
  using io::kLargestSize;
  ModelSizes sizes;
  sizes.hidden = config.integer({"hidden_size", "dim", "n_embd"}, 1, kLargestSize);
  sizes.layers = config.integer({"num_hidden_layers", "n_layers", "n_layer"}, 1, kMostConfiguredLayers);
  sizes.heads = config.integer({"num_attention_heads", "n_heads", "n_head"}, 1, kLargestSize);
  sizes.vocabulary = config.integer({"vocab_size"}, 1, kLargestSize);
  sizes.positions = config.integer({"max_position_embeddings", "n_positions"}, 1, kLargestSize);
  if (inner_per_hidden > 0) {
    sizes.inner =
        config.integer({"n_inner", "intermediate_size"}, 1, kLargestSize, inner_per_hidden * sizes.hidden);
  } else {
    sizes.inner = config.integer({"intermediate_size", "hidden_dim", "n_inner"}, 1, kLargestSize);
  }
  if (sizes.hidden % sizes.heads != 0) {
    io::fail(config.file(), "num_attention_heads", sizes.heads, " does not divide the hidden size ",
             sizes.hidden);
  }
  return sizes;
}

ModelDescription uniform_model(const ModelSizes& sizes, LayerDescription layer) {
  AttentionDescription& attention = layer.attention;
  attention.heads = attention.key_heads = sizes.heads;
  attention.head_size = sizes.hidden / sizes.heads;
  layer.feed_forward->size = sizes.inner;
  ModelDescription description;
  description.hidden_size = sizes.hidden;
  description.vocabulary_size = sizes.vocabulary;
  description.position_count = sizes.positions;
  if (layer.norm.place == NormPlace::after) description.embedding_norm = layer.norm;
  if (layer.norm.place != NormPlace::after) description.final_norm = layer.norm;
  description.layers.assign(static_cast<std::size_t>(sizes.layers), layer);
  return description;
}

void require_positions(const io::JsonFields& config, const ModelDescription& description) {
  if (description.max_tokens() > 0) return;
  config.refuse("max_position_embeddings", description.position_count,
                " leaves no position for a token: the first has number ", description.first_position);
}

bool is_classic(const ModelDescription& description, NormPlace place, bool causal) {
  if (description.has_source() || description.positions != PositionKind::learned ||
      description.embedding_size || description.output_scale != 1)
    return false;
  const auto classic = [&](const LayerDescription& layer) {
    const AttentionDescription& attention = layer.attention;
    return layer.kind == LayerKind::whole && layer.norm.place == place &&
           layer.norm.kind == NormKind::layer && layer.norm.bias && layer.attention_norm &&
           !layer.weights_of && attention.causal == causal && !attention.scale && attention.softcap == 0 &&
           !attention.sinks && attention.bias && attention.output_bias &&
           attention.query_key_norm == QueryKeyNorm::none && attention.window.left == Window::kUnlimited &&
           attention.window.right == Window::kUnlimited && attention.positions == PositionKind::none &&
           attention.key_heads == attention.heads &&
           attention.heads * attention.head_size == description.hidden_size && layer.feed_forward &&
           !layer.feed_forward->gated && !layer.feed_forward->parallel && layer.feed_forward->bias;
  };
  return !description.layers.empty() &&
         std::all_of(description.layers.begin(), description.layers.end(), classic);
}

std::vector<std::string_view> read_architectures(const io::JsonFields& config) {
  if (!config.is_list("architectures")) return {};
  return config.strings("architectures", io::JsonFields::kMaxElements);
}

void read_pad_token(const io::JsonFields& config, ModelDescription& description) {
  if (!config.has("pad_token_id")) return;
  description.pad_token =
      static_cast<std::int32_t>(config.integer({"pad_token_id"}, 0, description.vocabulary_size - 1));
}

Activation read_activation(const io::JsonFields& config, std::string_view key, std::string_view fallback) {
  const std::string_view name = config.string(key, fallback);
  if (name == "gelu" || name == "gelu_python") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  config.refuse(key, "\"", io::shown(name),
                "\" is not an activation that attend supports: gelu, gelu_new, relu");
}

double read_rotary_base(const io::JsonFields& config, std::string_view key, double fallback) {
  const double base = config.number(key, fallback);
  if (!(base > 0)) config.refuse(key, base, " is not a positive number");
  return base;
}

void require_plain_rotary(const io::JsonFields& rotary) {
  const std::string_view type = rotary.string("rope_type", "default");
  if (type != "default")
    rotary.refuse("rope_type", "\"", io::shown(type), "\" is not supported, expected \"default\"");
}

double read_epsilon(const io::JsonFields& config, std::string_view key, double fallback) {
  const double epsilon = config.number(key, fallback);
  if (!(epsilon > 0 && epsilon < 1)) config.refuse(key, epsilon, " is not between 0 and 1");
  return epsilon;
}

double read_positive(const io::JsonFields& config, std::string_view key, double fallback) {
  const double value = config.number(key, fallback);  // finite, as all that a file says
  if (!(value > 0)) config.refuse(key, value, " is not a positive number");
  return value;
}

void refuse_unless(const io::JsonFields& config, std::string_view key, bool expected) {
  if (config.boolean(key, expected) != expected) {
    config.refuse(key, expected ? "false" : "true", " is not supported, expected ",
                  expected ? "true" : "false");
  }
}

void refuse_other_kinds(const io::JsonFields& config) {
  const std::string_view positions = config.string("position_embedding_type", "absolute");
  if (positions != "absolute") {
    config.refuse("position_embedding_type", "\"", io::shown(positions),
                  "\" is not supported, expected \"absolute\"");
  }
  if (config.has("quantization_config"))
    config.refuse("quantization_config", "quantized weights are not supported");
  refuse_unless(config, "is_decoder", false);
  refuse_unless(config, "add_cross_attention", false);
  refuse_unless(config, "is_encoder_decoder", false);
}

}  // namespace attend::model
