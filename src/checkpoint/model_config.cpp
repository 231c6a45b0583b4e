#include "checkpoint/model_config.h"

#include <attend/model_files.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/json_fields.h"

namespace attend {

using namespace io;

namespace checkpoint {
namespace {

// Far beyond any model, and small enough that products of two of them count in 64 bits.
constexpr std::int64_t kMostLayers = 4096;

struct Family {
  std::string_view model_type;
  ModelFamily family;
};
constexpr std::array kFamilies = {
    Family{"bert", ModelFamily::bert},           Family{"roberta", ModelFamily::roberta},
    Family{"xlm-roberta", ModelFamily::roberta}, Family{"distilbert", ModelFamily::distilbert},
    Family{"mpnet", ModelFamily::mpnet},         Family{"gpt2", ModelFamily::gpt2},
    Family{"attend", ModelFamily::attend},
};

ModelFamily family_of(const JsonFields& fields) {
  const std::string_view type = fields.string("model_type");
  std::string known;
  for (const Family& entry : kFamilies) {
    if (entry.model_type == type) return entry.family;
    known.append(known.empty() ? "" : ", ").append(entry.model_type);
  }
  fields.refuse("model_type", "\"", shown(type), "\" is not a family that attend has: ", known);
}

Activation activation_of(const JsonFields& fields, std::string_view key, std::string_view fallback) {
  const std::string_view name = fields.string(key, fallback);
  if (name == "gelu" || name == "gelu_python") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  fields.refuse(key, "\"", shown(name), "\" is not an activation that attend has: gelu, gelu_new, relu");
}

void refuse_unless(const JsonFields& fields, std::string_view key, bool expected) {
  if (fields.boolean(key, expected) != expected) {
    fields.refuse(key, expected ? "false" : "true", " is not supported, expected ",
                  expected ? "true" : "false");
  }
}

// Options that change what a model computes, in ways that attend does not have.
void refuse_what_is_not_there(const JsonFields& fields) {
  const std::string_view positions = fields.string("position_embedding_type", "absolute");
  if (positions != "absolute") {
    fields.refuse("position_embedding_type", "\"", shown(positions),
                  "\" is not supported, expected \"absolute\"");
  }
  if (fields.has("quantization_config"))
    fields.refuse("quantization_config", "quantized weights are not supported");
  refuse_unless(fields, "is_decoder", false);
  refuse_unless(fields, "add_cross_attention", false);
  refuse_unless(fields, "is_encoder_decoder", false);
}

void read_sizes(const JsonFields& fields, ModelConfig& config) {
  config.hidden_size = fields.integer({"hidden_size", "dim", "n_embd"}, 1, kLargestSize);
  config.layers = fields.integer({"num_hidden_layers", "n_layers", "n_layer"}, 1, kMostLayers);
  config.heads = fields.integer({"num_attention_heads", "n_heads", "n_head"}, 1, kLargestSize);
  config.vocabulary_size = fields.integer({"vocab_size"}, 1, kLargestSize);
  config.positions = fields.integer({"max_position_embeddings", "n_positions"}, 1, kLargestSize);
  if (config.family == ModelFamily::gpt2) {
    config.intermediate_size =
        fields.integer({"n_inner", "intermediate_size"}, 1, kLargestSize, 4 * config.hidden_size);
  } else {
    config.intermediate_size = fields.integer({"intermediate_size", "hidden_dim"}, 1, kLargestSize);
  }
  if (config.hidden_size % config.heads != 0) {
    fail(fields.file(), "num_attention_heads", config.heads, " does not divide the hidden size ",
         config.hidden_size);
  }
}

void read_padding(const JsonFields& fields, ModelConfig& config) {
  if (fields.has("pad_token_id")) {
    config.pad_token = fields.integer({"pad_token_id"}, 0, config.vocabulary_size - 1);
  }
  // RoBERTa counts positions from the one after the padding token's id; MPNet from 2 whatever that id is.
  if (config.family == ModelFamily::roberta) config.first_position = config.pad_token.value_or(1) + 1;
  if (config.family == ModelFamily::mpnet) config.first_position = 2;
  if (config.positions <= config.first_position) {
    fields.refuse("max_position_embeddings", config.positions,
                  " leaves no position for a token: the first has number ", config.first_position);
  }
}

void read_options(const JsonFields& fields, ModelConfig& config) {
  const ModelFamily family = config.family;
  const std::string_view eps = family == ModelFamily::gpt2 ? "layer_norm_epsilon" : "layer_norm_eps";
  if (family != ModelFamily::distilbert) {  // which has 1e-12, always
    config.layer_norm_eps = fields.number(eps, family == ModelFamily::gpt2 ? 1e-5 : 1e-12);
  }
  if (!(config.layer_norm_eps > 0 && config.layer_norm_eps < 1)) {
    fields.refuse(eps, config.layer_norm_eps, " is not between 0 and 1");
  }
  config.tied_embeddings = fields.boolean("tie_word_embeddings", true);
  switch (family) {
    case ModelFamily::bert:
    case ModelFamily::roberta:
      config.activation = activation_of(fields, "hidden_act", "gelu");
      config.token_types = fields.integer({"type_vocab_size"}, 0, kLargestSize, 2);
      break;
    case ModelFamily::distilbert:
      config.activation = activation_of(fields, "activation", "gelu");
      break;
    case ModelFamily::mpnet:
      config.activation = activation_of(fields, "hidden_act", "gelu");
      // The family computes buckets for 32 up to a distance of 128, whatever its file says.
      config.relative_buckets = fields.integer({"relative_attention_num_buckets"}, 32, 32, 32);
      config.relative_distance = 128;
      break;
    case ModelFamily::gpt2:
      config.activation = activation_of(fields, "activation_function", "gelu_new");
      config.causal = config.norm_first = true;
      refuse_unless(fields, "scale_attn_weights", true);
      refuse_unless(fields, "scale_attn_by_inverse_layer_idx", false);
      break;
    case ModelFamily::attend:
      break;
  }
}

// One of these names; its number.
template <std::size_t Count>
std::size_t choice(const JsonFields& fields, std::string_view key,
                   const std::array<std::string_view, Count>& names) {
  const std::string_view name = fields.string(key);
  std::string known;
  for (std::size_t i = 0; i < Count; ++i) {
    if (names[i] == name) return i;
    known.append(known.empty() ? "" : ", ").append(names[i]);
  }
  fields.refuse(key, "\"", shown(name), "\" is not one of ", known);
}

// What `attend train` wrote.
void read_own(const JsonFields& fields, ModelConfig& config) {
  if (const std::string_view mixer = fields.string("mixer", "attention"); mixer != "attention") {
    fields.refuse("mixer", "\"", shown(mixer), "\" is a model without attention");
  }
  const std::size_t kind =
      choice(fields, "kind", std::array<std::string_view, 3>{"encoder", "decoder", "encoder_decoder"});
  config.hidden_size = fields.integer({"hidden"}, 1, kLargestSize);
  config.layers = fields.integer({"layers"}, 1, kMostLayers);
  config.heads = fields.integer({"heads"}, 1, kLargestSize);
  config.vocabulary_size = fields.integer({"vocab_size"}, 1, kLargestSize);
  config.positions = fields.integer({"length"}, 1, kLargestSize);
  config.intermediate_size = fields.integer({"inner"}, 1, kLargestSize);
  if (config.hidden_size % config.heads != 0) {
    fields.refuse("heads", config.heads, " does not divide the hidden size ", config.hidden_size);
  }
  config.causal = kind == 1;
  config.norm_first = fields.boolean("norm_first", true);
  config.norm =
      static_cast<NormKind>(choice(fields, "norm", std::array<std::string_view, 2>{"layer", "rms"}));
  const std::size_t inside =
      choice(fields, "feed_forward", std::array<std::string_view, 3>{"gelu", "gelu_tanh", "swiglu"});
  config.gated = inside == 2;
  config.activation = std::array{Activation::gelu, Activation::gelu_tanh, Activation::none}[inside];
  config.position_kind = static_cast<PositionKind>(
      choice(fields, "positions",
             std::array<std::string_view, 5>{"none", "sinusoidal", "learned", "rotary", "alibi"}));
  if (config.position_kind == PositionKind::rotary && config.hidden_size / config.heads % 2 != 0) {
    fields.refuse("positions", "rotary turns pairs, and a head has ", config.hidden_size / config.heads,
                  " dimensions");
  }
  config.tied_embeddings = fields.boolean("tied", true);
  config.scaled = fields.boolean("scaled", true);
  config.layer_norm_eps = fields.number("epsilon", 1e-5);
  if (!(config.layer_norm_eps >= 0 && config.layer_norm_eps <= 1)) {
    fields.refuse("epsilon", config.layer_norm_eps, " is not between 0 and 1");
  }
  if (kind == 2) {
    config.encoder_layers = config.layers;
    config.layers *= 3;
    if (fields.has("decoder_start_token_id")) {
      config.start_token = static_cast<std::int32_t>(
          fields.integer({"decoder_start_token_id"}, 0, config.vocabulary_size - 1));
    }
  }
}

}  // namespace

ModelConfig parse_model_config(FileText text) {
  ModelConfig config;
  const JsonFields fields(std::move(text), [&](JsonReader& json, std::string_view key) {
    if (key == "architectures" && json.kind() == JsonKind::array) {
      json.array(key, [&] { config.architectures.emplace_back(json.string(key)); });
      return true;
    }
    if (key != "auto_map" || json.kind() != JsonKind::object) return false;
    json.object(key, [&](std::string_view what) {
      json.skip(key);
      if (what == "AutoModel" || what == "AutoConfig") {
        fail(json.file(), key, "asks for program code that comes with the model, which attend does not run");
      }
    });
    return true;
  });
  config.family = family_of(fields);
  config.model_type = fields.string("model_type");
  if (config.family == ModelFamily::attend) {
    read_own(fields, config);
    return config;
  }
  refuse_what_is_not_there(fields);
  read_sizes(fields, config);
  read_padding(fields, config);
  read_options(fields, config);
  return config;
}

}  // namespace checkpoint

std::string_view name_of(ModelFamily family) noexcept {
  switch (family) {
    case ModelFamily::bert:
      return "bert";
    case ModelFamily::roberta:
      return "roberta";
    case ModelFamily::distilbert:
      return "distilbert";
    case ModelFamily::mpnet:
      return "mpnet";
    case ModelFamily::gpt2:
      return "gpt2";
    case ModelFamily::attend:
      return "attend";
  }
  return "";
}

LayerKind ModelConfig::layer_kind(std::int64_t layer) const noexcept {
  if (encoder_layers == 0) return LayerKind::whole;
  if (layer <= encoder_layers) return LayerKind::encoder;
  return (layer - encoder_layers) % 2 == 1 ? LayerKind::decoder : LayerKind::cross;
}

std::string ModelConfig::layer_name(std::int64_t layer) const {
  const std::int64_t of_decoder = (layer - encoder_layers + 1) / 2;
  switch (layer_kind(layer)) {
    case LayerKind::whole:
      return std::to_string(layer);
    case LayerKind::encoder:
      return joined("encoder ", layer);
    case LayerKind::decoder:
      return joined("decoder ", of_decoder);
    case LayerKind::cross:
      return joined("cross ", of_decoder);
  }
  return {};
}

ModelConfig read_model_config(const std::filesystem::path& config_json) {
  using namespace checkpoint;
  return parse_model_config(read_text(InputFile(config_json), kMaxConfigBytes));
}

ModelConfig read_model_config(const ModelFile& config_json) {
  return checkpoint::parse_model_config(read_text(*config_json.opened(), kMaxConfigBytes));
}

}  // namespace attend
