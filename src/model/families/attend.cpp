// The family of models made by `attend train` that no other family can store.
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "model/families/config_keys.h"
#include "model/families/families.h"
#include "model/own_model.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kAttendTypes = {"attend"};

// The choice that this key names.
template <class Choice>
Choice read_choice(const io::JsonFields& config, std::string_view key) {
  const std::string_view name = config.string(key);
  std::string known;
  const auto names = names_of(Choice{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Choice>(i);
    known.append(known.empty() ? "" : ", ").append(names[i]);
  }
  config.refuse(key, "\"", io::shown(name), "\" is not one of ", known);
}

// Keys for what `attend train` does not make but train::Model can; left out of a file where they hold the
// usual values.
void read_attention_words(const io::JsonFields& config, ModelDescription& description) {
  for (LayerDescription& layer : description.layers) {
    AttentionDescription& attention = layer.attention;
    attention.key_heads = config.integer({"key_heads"}, 1, attention.heads, attention.heads);
    if (attention.heads % attention.key_heads != 0)
      config.refuse("key_heads", attention.key_heads, " does not divide the ", attention.heads, " heads");
    attention.head_size = config.integer({"head_size"}, 1, io::kLargestSize, attention.head_size);
    if (attention.heads * attention.head_size > io::kLargestSize) {
      config.refuse("head_size", attention.heads, " heads of ", attention.head_size,
                    " dimensions are more than ", io::kLargestSize);
    }
    if (attention.positions == PositionKind::rotary && attention.head_size % 2 != 0)
      config.refuse("head_size", attention.head_size, " dimensions cannot be rotated in pairs");
    if (layer.kind != LayerKind::cross)
      attention.window.left = config.integer({"window"}, 0, io::kLargestSize, Window::kUnlimited);
  }
}

ModelDescription describe_attend(const io::JsonFields& config) {
  using io::kLargestSize;
  if (const std::string_view mixer = config.string("mixer", "attention"); mixer != "attention") {
    config.refuse("mixer", "\"", io::shown(mixer), "\" is a model without attention");
  }
  OwnModel own{.kind = read_choice<ModelKind>(config, "kind")};
  own.hidden = config.integer({"hidden"}, 1, kLargestSize);
  own.layers = config.integer({"layers"}, 1, kMostOwnLayers);
  own.heads = config.integer({"heads"}, 1, kLargestSize);
  own.vocabulary = config.integer({"vocab_size"}, 1, kLargestSize);
  own.length = config.integer({"length"}, 1, kLargestSize);
  own.inner = config.integer({"inner"}, 1, kLargestSize);
  if (own.hidden % own.heads != 0)
    config.refuse("heads", own.heads, " does not divide the hidden size ", own.hidden);
  own.norm_first = config.boolean("norm_first", true);
  own.norm = read_choice<NormKind>(config, "norm");
  own.feed_forward = read_choice<FeedForwardKind>(config, "feed_forward");
  own.positions = read_choice<PositionKind>(config, "positions");
  if (own.positions == PositionKind::rotary && own.hidden / own.heads % 2 != 0) {
    config.refuse("positions", "rotary turns dimensions in pairs, but a head has ", own.hidden / own.heads);
  }
  own.tied = config.boolean("tied", true);
  own.scaled = config.boolean("scaled", true);
  own.epsilon = config.number("epsilon", 1e-5);
  if (!(own.epsilon >= 0 && own.epsilon <= 1))
    config.refuse("epsilon", own.epsilon, " is not between 0 and 1");
  ModelDescription description = describe(own);
  read_attention_words(config, description);
  if (description.has_source() && config.has("decoder_start_token_id")) {
    description.start_token =
        static_cast<std::int32_t>(config.integer({"decoder_start_token_id"}, 0, own.vocabulary - 1));
  }
  return description;
}

TensorNames name_attend(const ModelDescription& description) {
  TensorNames names{.words = "words", .input_first = true, .gamma_and_beta = true};
  const bool two = description.has_source();
  if (description.positions == PositionKind::learned) names.positions = "positions";
  if (description.token_types > 0) names.types = "type";
  if (description.embedding_norm) {
    names.embedding_norm = "embedding.norm";
    if (two) names.source_embedding_norm = "encoder.embedding.norm";
  }
  if (description.final_norm) {
    names.final_norm = "norm";
    if (two) names.source_final_norm = "encoder.norm";
  }
  for (std::int64_t i = 0; i < description.layer_count(); ++i) {
    const LayerDescription& layer = description.layers[static_cast<std::size_t>(i)];
    const bool of_decoder = layer.kind == LayerKind::decoder || layer.kind == LayerKind::cross;
    const std::int64_t place = of_decoder ? (i - description.encoder_layers) / 2 : i;
    const std::string prefix =
        (layer.kind == LayerKind::encoder ? "encoder." : "layer.") + std::to_string(place) + ".";
    LayerNames& own = names.layers.emplace_back();
    if (layer.weights_of) {
      own = names.layers[static_cast<std::size_t>(*layer.weights_of) - 1];
      continue;
    }
    if (layer.kind == LayerKind::cross) {
      own = {.projected = {prefix + "cross.q"},
             .context = {prefix + "cross.kv"},
             .out = prefix + "cross.out",
             .attention_norm = prefix + "cross.norm"};
    } else {
      own = {.projected = {prefix + "attention.qkv"},
             .out = prefix + "attention.out",
             .attention_norm = prefix + "attention.norm"};
    }
    const bool cross = layer.kind == LayerKind::cross;
    const std::string attention = prefix + (cross ? "cross." : "attention.");
    const bool around = layer.norm.place == NormPlace::around;
    if (layer.attention.query_key_norm != QueryKeyNorm::none) {
      own.query_norm = attention + "query_norm";
      own.key_norm = attention + "key_norm";
    }
    if (layer.attention.sinks) own.sinks = attention + "sinks";
    if (around) own.attention_out_norm = attention + "out_norm";
    if (!layer.attention_norm) own.attention_norm.clear();
    if (!layer.feed_forward) continue;
    own.up = {prefix + "feed_forward.up"};
    own.down = prefix + "feed_forward.down";
    own.feed_forward_norm = prefix + "feed_forward.norm";
    if (around) own.feed_forward_out_norm = prefix + "feed_forward.out_norm";
  }
  if (description.uses(PositionKind::relative)) names.relative_bias = "distances";
  if (!description.tied_output) names.output = {.tables = {"output"}, .table_input_first = true};
  return names;
}

// Everything but relative positions, which this format has no keys for.
bool stores_attend(const ModelDescription& description) { return !description.uses(PositionKind::relative); }

std::string attend_json(const ModelDescription& description) {
  const OwnModel own = own_model_of(description);
  const auto name = [](auto choice) { return names_of(choice)[static_cast<std::size_t>(choice)]; };
  nlohmann::ordered_json json = {{"model_type", "attend"},
                                 {"kind", name(own.kind)},
                                 {"mixer", name(own.mixer)},
                                 {"vocab_size", own.vocabulary},
                                 {"length", own.length},
                                 {"layers", own.layers},
                                 {"hidden", own.hidden},
                                 {"heads", own.heads},
                                 {"inner", own.inner},
                                 {"norm_first", own.norm_first},
                                 {"norm", name(own.norm)},
                                 {"feed_forward", name(own.feed_forward)},
                                 {"positions", name(own.positions)},
                                 {"tied", own.tied},
                                 {"scaled", own.scaled},
                                 {"epsilon", own.epsilon}};
  const AttentionDescription& attention = description.layers.front().attention;
  if (attention.key_heads != attention.heads) json["key_heads"] = attention.key_heads;
  if (attention.heads * attention.head_size != description.hidden_size && attention.heads > 0)
    json["head_size"] = attention.head_size;
  if (attention.window.left != Window::kUnlimited) json["window"] = attention.window.left;
  if (description.start_token) json["decoder_start_token_id"] = *description.start_token;
  return json.dump(2) + "\n";
}

LayerDescription layer_of(const OwnModel& own, LayerKind kind, bool causal) {
  const bool cross = kind == LayerKind::cross;
  LayerDescription layer{.kind = kind,
                         .norm = {.kind = own.norm,
                                  .place = own.norm_first ? NormPlace::before : NormPlace::after,
                                  .epsilon = own.epsilon}};
  layer.attention = {
      .heads = own.heads, .key_heads = own.heads, .head_size = own.hidden / own.heads, .causal = causal};
  if (!own.scaled) layer.attention.scale = 1;
  if (!cross && (own.positions == PositionKind::rotary || own.positions == PositionKind::alibi))
    layer.attention.positions = own.positions;
  if (kind == LayerKind::decoder) return layer;  // its feed-forward part follows the cross layer
  const bool gated = own.feed_forward == FeedForwardKind::swiglu;
  layer.feed_forward = {.size = own.inner,
                        .activation = gated                                       ? Activation::silu
                                      : own.feed_forward == FeedForwardKind::gelu ? Activation::gelu
                                                                                  : Activation::gelu_tanh,
                        .gated = gated};
  return layer;
}

void check_own(const OwnModel& own) {
  constexpr const char* kOperation = "model";
  const auto counts = [](const char* name, std::int64_t value, std::int64_t most = kLargestModelSize) {
    if (value < 1 || value > most)
      refuse(kOperation, name, " is ", value, ", expected a number from 1 to ", most);
  };
  if (own.mixer == MixerKind::gru && own.kind != ModelKind::decoder)
    refuse(kOperation, "GRU layers read forwards, so they can only make a decoder");
  counts("layers", own.layers, kMostOwnLayers);
  counts("hidden", own.hidden);
  counts("heads", own.heads);
  if (own.mixer == MixerKind::attention && own.hidden % own.heads != 0)
    refuse(kOperation, "hidden is ", own.hidden, ", expected a multiple of the ", own.heads, " heads");
}

}  // namespace

constinit const Family kAttend{"attend",    kAttendTypes,  describe_attend,
                               name_attend, stores_attend, attend_json};

TensorNames own_names(const ModelDescription& description) { return name_attend(description); }

ModelDescription describe(const OwnModel& own) {
  check_own(own);
  ModelDescription description;
  description.family = description.model_type = kAttend.name;
  description.hidden_size = own.hidden;
  description.vocabulary_size = own.vocabulary;
  description.position_count = own.length;
  description.tied_output = own.tied;
  description.positions = PositionKind::none;
  std::vector<LayerDescription>& layers = description.layers;
  const auto count = static_cast<std::size_t>(own.layers);
  if (own.mixer == MixerKind::gru) {
    layers.assign(count, {.kind = LayerKind::recurrent});
    check(description);
    return description;
  }
  if (own.positions == PositionKind::learned || own.positions == PositionKind::sinusoidal)
    description.positions = own.positions;
  if (own.kind == ModelKind::encoder_decoder) {
    description.encoder_layers = own.layers;
    layers.assign(count, layer_of(own, LayerKind::encoder, false));
    for (std::size_t i = 0; i < count; ++i) {
      layers.push_back(layer_of(own, LayerKind::decoder, true));
      layers.push_back(layer_of(own, LayerKind::cross, false));
    }
  } else {
    layers.assign(count, layer_of(own, LayerKind::whole, own.kind == ModelKind::decoder));
  }
  (own.norm_first ? description.final_norm : description.embedding_norm) = layers.front().norm;
  check(description);
  return description;
}

OwnModel own_model_of(const ModelDescription& description) {
  OwnModel own{.vocabulary = description.vocabulary_size,
               .length = description.max_tokens(),
               .hidden = description.hidden_size,
               .tied = description.tied_output};
  const std::int64_t count = description.layer_count();
  own.layers = description.has_source() ? description.encoder_layers : count;
  const LayerDescription& layer = description.layers.front();
  if (layer.kind == LayerKind::recurrent) {
    own.mixer = MixerKind::gru;
    own.heads = own.inner = 1;
    own.positions = PositionKind::none;
    return own;
  }
  own.kind = description.has_source() ? ModelKind::encoder_decoder
             : layer.attention.causal ? ModelKind::decoder
                                      : ModelKind::encoder;
  own.heads = layer.attention.heads;
  own.norm_first = layer.norm.place == NormPlace::before;
  own.norm = layer.norm.kind;
  own.epsilon = layer.norm.epsilon;
  own.scaled = !layer.attention.scale;
  own.positions =
      layer.attention.positions == PositionKind::none ? description.positions : layer.attention.positions;
  own.inner = layer.feed_forward->size;
  own.feed_forward = layer.feed_forward->gated                            ? FeedForwardKind::swiglu
                     : layer.feed_forward->activation == Activation::gelu ? FeedForwardKind::gelu
                                                                          : FeedForwardKind::gelu_tanh;
  return own;
}

}  // namespace attend::model
