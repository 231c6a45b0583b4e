#include "model/names.h"

#include <attend/file_error.h>

#include "base/error.h"

namespace attend {
namespace {

// As src/train calls them.
Names own_names(const ModelConfig& config) {
  Names names{.embeddings = {.words = "words"}, .input_first = true};
  if (config.position_kind == PositionKind::learned) names.embeddings.positions = "positions";
  if (config.norm_first) {
    names.final_norm = "norm";
    if (config.encoder_layers > 0) names.encoder_norm = "encoder.norm";
  } else {
    names.embeddings.norm = "embedding.norm";
    if (config.encoder_layers > 0) names.embeddings.source_norm = "encoder.embedding.norm";
  }
  return names;
}

LayerNames own_layer(std::int64_t index, std::int64_t encoder_layers) {
  const ModelConfig counts{.layers = 3 * encoder_layers, .encoder_layers = encoder_layers};
  const LayerKind kind = counts.layer_kind(index + 1);
  const bool of_encoder = kind == LayerKind::whole || kind == LayerKind::encoder;
  const std::string place = std::to_string(of_encoder ? index : (index - encoder_layers) / 2);
  const std::string l = (kind == LayerKind::encoder ? "encoder." : "layer.") + place + ".";
  LayerNames names{
      .qkv = {l + "attention.qkv"}, .out = l + "attention.out", .attention_norm = l + "attention.norm"};
  if (kind == LayerKind::cross) {
    names = {.qkv = {l + "cross.q"}, .out = l + "cross.out", .attention_norm = l + "cross.norm"};
    names.context = l + "cross.kv";
  }
  if (kind == LayerKind::decoder) return names;  // its feed-forward part comes after the cross layer
  names.up = l + "feed_forward.up";
  names.down = l + "feed_forward.down";
  names.output_norm = l + "feed_forward.norm";
  return names;
}

Names names_without_prefix(const ModelConfig& config) {
  const ModelFamily family = config.family;
  if (family == ModelFamily::attend) return own_names(config);
  if (family == ModelFamily::gpt2) {
    return {.embeddings = {.words = "wte.weight", .positions = "wpe.weight"},
            .final_norm = "ln_f",
            .input_first = true};
  }
  Names names{.embeddings = {.words = "embeddings.word_embeddings.weight",
                             .positions = "embeddings.position_embeddings.weight",
                             .norm = "embeddings.LayerNorm"}};
  if (family == ModelFamily::bert || family == ModelFamily::roberta)
    names.embeddings.types = "embeddings.token_type_embeddings.weight";
  if (family == ModelFamily::mpnet) names.relative_bias = "encoder.relative_attention_bias.weight";
  return names;
}

// A model that was saved with a head has its encoder under the family's name.
std::vector<std::string> prefixes_of(ModelFamily family) {
  if (family == ModelFamily::gpt2) return {"", "transformer."};
  if (family == ModelFamily::attend) return {""};
  if (family == ModelFamily::roberta) return {"", "roberta.", "xlm-roberta."};
  return {"", std::string(name_of(family)) + "."};
}

}  // namespace

LayerNames Names::layer(std::int64_t index) const {
  if (family == ModelFamily::attend) return own_layer(index, encoder_layers);
  const std::string number = std::to_string(index);
  if (family == ModelFamily::gpt2) {
    const std::string h = prefix + "h." + number + ".";
    return {{h + "attn.c_attn"}, h + "attn.c_proj", h + "ln_1", h + "mlp.c_fc", h + "mlp.c_proj", h + "ln_2"};
  }
  if (family == ModelFamily::distilbert) {
    const std::string l = prefix + "transformer.layer." + number + ".";
    return {{l + "attention.q_lin", l + "attention.k_lin", l + "attention.v_lin"},
            l + "attention.out_lin",
            l + "sa_layer_norm",
            l + "ffn.lin1",
            l + "ffn.lin2",
            l + "output_layer_norm"};
  }
  const std::string l = prefix + "encoder.layer." + number + ".";
  const std::string up = l + "intermediate.dense", down = l + "output.dense", norm = l + "output.LayerNorm";
  if (family == ModelFamily::mpnet) {
    const std::string attention = l + "attention.attn.";
    return {{attention + "q", attention + "k", attention + "v"},
            attention + "o",
            l + "attention.LayerNorm",
            up,
            down,
            norm};
  }
  const std::string self = l + "attention.self.", output = l + "attention.output.";
  return {
      {self + "query", self + "key", self + "value"}, output + "dense", output + "LayerNorm", up, down, norm};
}

Names names_of(const ModelConfig& config, const TensorSource& tensors) {
  const ModelFamily family = config.family;
  Names names = names_without_prefix(config);
  names.family = family;
  names.encoder_layers = config.encoder_layers;
  const std::string first = names.embeddings.words;
  for (const std::string& prefix : prefixes_of(family)) {
    if (!tensors.contains(prefix + first)) continue;
    names.prefix = prefix;
    for (std::string* const name :
         {&names.embeddings.words, &names.embeddings.positions, &names.embeddings.types,
          &names.embeddings.norm, &names.final_norm, &names.relative_bias}) {
      if (!name->empty()) name->insert(0, prefix);
    }
    return names;
  }
  throw FileError(tensors.file, first,
                  joined("there is no such tensor, which a model of the family ", name_of(family), " has"));
}

}  // namespace attend
