// T5 (Raffel et al. 2019) and T5 1.1: an encoder and a decoder whose scores know distances by tables; or the
// encoder alone.
#include <algorithm>
#include <array>
#include <cmath>

#include "model/families/config_keys.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kT5Types = {"t5"};

FeedForwardDescription read_t5_feed_forward(const io::JsonFields& config) {
  FeedForwardDescription part{.size = config.integer({"d_ff"}, 1, io::kLargestSize), .bias = false};
  const std::string_view name = config.string("feed_forward_proj", "relu");
  constexpr std::array<std::pair<std::string_view, Activation>, 4> kPlain = {
      {{"relu", Activation::relu},
       {"gelu", Activation::gelu},
       {"gelu_new", Activation::gelu_tanh},
       {"gated-relu", Activation::relu}}};
  part.gated = name.starts_with("gated-");
  if (name == "gated-gelu" || name == "gated-gelu_new") {
    part.activation = Activation::gelu_tanh;  // whatever its name says
    return part;
  }
  if (name == "gated-silu") {
    part.activation = Activation::silu;
    return part;
  }
  for (const auto& [known, activation] : kPlain) {
    if (name != known) continue;
    part.activation = activation;
    return part;
  }
  config.refuse("feed_forward_proj", "\"", io::shown(name),
                "\" is not one of relu, gelu, gelu_new, gated-relu, gated-gelu, gated-silu");
}

bool is_encoder_alone(const io::JsonFields& config) {
  const std::vector<std::string_view> names = read_architectures(config);
  return std::find(names.begin(), names.end(), "T5EncoderModel") != names.end();
}

// An attention of this kind, and the feed-forward part where one follows.
LayerDescription t5_layer(const io::JsonFields& config, LayerKind kind) {
  const bool cross = kind == LayerKind::cross, decoder = kind == LayerKind::decoder;
  LayerDescription layer{.kind = kind,
                         .norm = {.kind = NormKind::rms,
                                  .place = NormPlace::before,
                                  .epsilon = read_epsilon(config, "layer_norm_epsilon", 1e-6)}};
  const std::int64_t heads = config.integer({"num_heads"}, 1, io::kLargestSize);
  layer.attention = {.heads = heads,
                     .key_heads = heads,
                     .head_size = config.integer({"d_kv"}, 1, io::kLargestSize),
                     .bias = false,
                     .output_bias = false,
                     .scale = 1,
                     .causal = decoder};
  if (!cross) {
    layer.attention.positions = PositionKind::relative;
    layer.attention.relative_buckets = {
        .buckets = config.integer({"relative_attention_num_buckets"}, 4, io::kLargestSize, 32),
        .max_distance = config.integer({"relative_attention_max_distance"}, 1, io::kLargestSize, 128),
        .bidirectional = !decoder};
  }
  if (!decoder) layer.feed_forward = read_t5_feed_forward(config);
  return layer;
}

// Half of the buckets of a direction have one distance each, the others share those up to the largest.
void check_buckets(const io::JsonFields& config, const RelativeBuckets& shape) {
  const std::int64_t exact = shape.buckets / (shape.bidirectional ? 4 : 2);
  if (shape.max_distance <= exact) {
    config.refuse("relative_attention_max_distance", shape.max_distance, " is not more than the ", exact,
                  " distances that have a bucket each");
  }
}

ModelDescription describe_t5(const io::JsonFields& config) {
  using io::kLargestSize;
  if (config.has("quantization_config"))
    config.refuse("quantization_config", "quantized weights are not supported");
  constexpr std::int64_t kMostLayers = 4096;
  ModelDescription description;
  description.hidden_size = config.integer({"d_model"}, 1, kLargestSize);
  description.vocabulary_size = config.integer({"vocab_size"}, 1, kLargestSize);
  description.positions = PositionKind::none;
  // There is no table that would end; this is how long the texts of its training were.
  description.position_count = config.integer({"n_positions"}, 1, kLargestSize, 512);
  const std::int64_t layers = config.integer({"num_layers"}, 1, kMostLayers);
  const bool alone = is_encoder_alone(config);
  const LayerDescription first = t5_layer(config, alone ? LayerKind::whole : LayerKind::encoder);
  check_buckets(config, first.attention.relative_buckets);
  description.layers.assign(static_cast<std::size_t>(layers), first);
  description.final_norm = first.norm;
  read_pad_token(config, description);
  if (alone) return description;

  description.encoder_layers = layers;
  const std::int64_t blocks = config.integer({"num_decoder_layers"}, 1, kMostLayers, layers);
  const LayerDescription self = t5_layer(config, LayerKind::decoder),
                         cross = t5_layer(config, LayerKind::cross);
  check_buckets(config, self.attention.relative_buckets);
  for (std::int64_t i = 0; i < blocks; ++i) {
    description.layers.push_back(self);
    description.layers.push_back(cross);
  }
  description.start_token = static_cast<std::int32_t>(
      config.integer({"decoder_start_token_id", "pad_token_id"}, 0, description.vocabulary_size - 1, 0));
  if (config.has("eos_token_id")) {
    description.end_tokens.push_back(
        static_cast<std::int32_t>(config.integer({"eos_token_id"}, 0, description.vocabulary_size - 1)));
  }
  description.tied_output = config.boolean("tie_word_embeddings", true);
  if (config.boolean("scale_decoder_outputs", description.tied_output))
    description.output_scale = 1 / std::sqrt(static_cast<double>(description.hidden_size));
  return description;
}

TensorNames name_t5(const ModelDescription& description) {
  TensorNames names{.words = "shared.weight", .words_also = "encoder.embed_tokens.weight"};
  const bool two = description.has_source();
  const std::string distances = "block.0.layer.0.SelfAttention.relative_attention_bias.weight";
  if (two) names.source_final_norm = "encoder.final_layer_norm";
  if (two) names.source_relative_bias = "encoder." + distances;
  const std::string stack = two ? "decoder." : "encoder.";
  names.final_norm = stack + "final_layer_norm";
  names.relative_bias = stack + distances;
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const LayerDescription& layer = description.layers[static_cast<std::size_t>(i)];
    const bool of_decoder = layer.kind == LayerKind::decoder || layer.kind == LayerKind::cross,
               cross = layer.kind == LayerKind::cross;
    const std::int64_t block = of_decoder ? (i - description.encoder_layers) / 2 : i;
    const std::string parts =
        (of_decoder ? "decoder.block." : "encoder.block.") + std::to_string(block) + ".layer.";
    const std::string own = parts + (cross ? "1." : "0."),
                      attention = own + (cross ? "EncDecAttention." : "SelfAttention.");
    LayerNames& layer_names = names.layers.emplace_back();
    layer_names = {.projected = {attention + "q", attention + "k", attention + "v"},
                   .out = attention + "o",
                   .attention_norm = own + "layer_norm"};
    if (cross) {
      layer_names.context = {attention + "k", attention + "v"};
      layer_names.projected.resize(1);
    }
    if (!layer.feed_forward) continue;
    const std::string last = parts + (cross ? "2." : "1."), dense = last + "DenseReluDense.";
    layer_names.up =
        layer.feed_forward->gated ? std::vector{dense + "wi_0", dense + "wi_1"} : std::vector{dense + "wi"};
    layer_names.down = dense + "wo";
    layer_names.feed_forward_norm = last + "layer_norm";
  }
  names.output = {.none = !two, .tables = {"lm_head.weight"}};
  return names;
}

}  // namespace

constinit const Family kT5{"t5", kT5Types, describe_t5, name_t5};

}  // namespace attend::model
