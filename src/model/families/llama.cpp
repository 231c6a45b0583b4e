// Llama 2 and 3 (Touvron et al. 2023, Grattafiori et al. 2024), and what else has its layers: SmolLM2.
#include <array>

#include "model/families/decoder_config.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kLlamaTypes = {"llama"};

ModelDescription describe_llama(const io::JsonFields& config) {
  const DecoderSizes sizes = read_decoder_sizes(config);
  LayerDescription layer = read_llama_layer(config, sizes);
  layer.attention.bias = layer.attention.output_bias = config.boolean("attention_bias", false);
  layer.feed_forward->bias = config.boolean("mlp_bias", false);
  ModelDescription description = decoder_of(sizes, layer);
  read_decoder_rest(config, description, false);
  return description;
}

}  // namespace

constinit const Family kLlama{.name = "llama",
                              .model_types = kLlamaTypes,
                              .describe = describe_llama,
                              .names = llama_names,
                              .replaces_code = true};

}  // namespace attend::model
