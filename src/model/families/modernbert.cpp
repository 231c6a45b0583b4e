// ModernBERT (Warner et al. 2024): norms before the parts and without biases, rotary positions, gates, and
// windows in most layers.
#include <array>
#include <vector>

#include "model/families/config_keys.h"
#include "model/families/families.h"
#include "model/families/sequence_config.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kModernbertTypes = {"modernbert"};

// The base of the layers of one kind: under rope_parameters, or under the older key.
double rotary_base(const io::JsonFields& config, std::string_view kind, std::string_view older,
                   double fallback) {
  const io::JsonFields* const both = config.object("rope_parameters");
  const io::JsonFields* const own = both != nullptr ? both->object(kind) : nullptr;
  if (own != nullptr) require_plain_rotary(*own);
  if (own == nullptr || !own->has("rope_theta")) return read_rotary_base(config, older, fallback);
  return read_rotary_base(*own, "rope_theta", fallback);
}

// Whether each layer sees whole texts.
std::vector<bool> read_global_layers(const io::JsonFields& config, std::int64_t layers) {
  std::vector<bool> global;
  const std::int64_t every = config.integer({"global_attn_every_n_layers"}, 1, io::kLargestSize, 3);
  if (!config.has("layer_types")) {
    for (std::int64_t i = 0; i < layers; ++i) global.push_back(i % every == 0);
    return global;
  }
  for (const std::string_view type : config.strings("layer_types", io::JsonFields::kMaxElements)) {
    if (type != "full_attention" && type != "sliding_attention") {
      config.refuse("layer_types", "\"", io::shown(type),
                    "\" is not a kind of layer that attend supports: full_attention, sliding_attention");
    }
    global.push_back(type == "full_attention");
  }
  if (std::ssize(global) != layers)
    config.refuse("layer_types", "has ", global.size(), " names for ", layers, " layers");
  return global;
}

Pooling read_classifier_pooling(const io::JsonFields& config) {
  const std::string_view pooling = config.string("classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean")
    config.refuse("classifier_pooling", "\"", io::shown(pooling), "\" is neither \"cls\" nor \"mean\"");
  return pooling == "cls" ? Pooling::cls : Pooling::mean;
}

ModelDescription describe_modernbert(const io::JsonFields& config) {
  refuse_other_kinds(config);
  const ModelSizes sizes = read_sizes(config);
  LayerDescription layer{.feed_forward = FeedForwardDescription{}};
  layer.norm = {.place = NormPlace::before,
                .epsilon = read_epsilon(config, "norm_eps", 1e-5),
                .bias = config.boolean("norm_bias", false)};
  layer.attention.bias = layer.attention.output_bias = config.boolean("attention_bias", false);
  layer.attention.positions = PositionKind::rotary;
  layer.feed_forward->activation = read_activation(config, "hidden_activation", "gelu");
  layer.feed_forward->gated = true;
  layer.feed_forward->bias = config.boolean("mlp_bias", false);
  if (config.has("rope_scaling")) config.refuse("rope_scaling", "is not supported in this family");
  if (const std::string_view head = config.string("classifier_activation", "gelu"); head != "gelu")
    config.refuse("classifier_activation", "\"", io::shown(head), "\" is not supported, expected \"gelu\"");

  ModelDescription description = uniform_model(sizes, layer);
  read_pad_token(config, description);
  description.positions = PositionKind::none;
  description.embedding_norm = layer.norm;
  description.tied_output = config.boolean("tie_word_embeddings", true);
  description.layers.front().attention_norm = false;

  const double global_base = rotary_base(config, "full_attention", "global_rope_theta", 160000);
  const double local_base = rotary_base(config, "sliding_attention", "local_rope_theta",
                                        config.is_null("local_rope_theta") ? global_base : 10000);
  // As many tokens as a window has in all, of which half are on each side.
  const std::int64_t side = config.integer({"local_attention"}, 1, io::kLargestSize, 128) / 2;
  const std::vector<bool> globals = read_global_layers(config, sizes.layers);
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    AttentionDescription& attention = description.layers[static_cast<std::size_t>(i)].attention;
    const bool global = globals[static_cast<std::size_t>(i)];
    attention.rotary.base = global ? global_base : local_base;
    if (!global) attention.window = {.left = side, .right = side};
  }
  description.sequence_head = read_sequence_head(config, read_classifier_pooling(config));
  return description;
}

TensorNames name_modernbert(const ModelDescription& description) {
  TensorNames names{.words = "embeddings.tok_embeddings.weight",
                    .embedding_norm = "embeddings.norm",
                    .final_norm = "final_norm",
                    .prefixes = {"", "model."}};
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    names.layers.push_back({.projected = {layer + "attn.Wqkv"},
                            .out = layer + "attn.Wo",
                            .attention_norm = i == 0 ? "" : layer + "attn_norm",
                            .up = {layer + "mlp.Wi"},
                            .down = layer + "mlp.Wo",
                            .feed_forward_norm = layer + "mlp_norm"});
  }
  names.output = {.dense = "head.dense",
                  .norm = "head.norm",
                  .dense_bias = false,
                  .own_activation = false,
                  .tables = {"decoder.weight"},
                  .biases = {"decoder.bias"}};
  names.output.none = description.sequence_head.has_value();  // `head` is then that of the classifier
  names.sequence = {.dense = "head.dense",
                    .norm = "head.norm",
                    .score = "classifier",
                    .activation = SequenceActivation::gelu,
                    .dense_bias = false};
  return names;
}

}  // namespace

constinit const Family kModernbert{"modernbert", kModernbertTypes, describe_modernbert, name_modernbert};

}  // namespace attend::model
