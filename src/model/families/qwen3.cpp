// Qwen 3 (Yang et al. 2025): Llama with norms of the queries and keys of each head.
#include <array>

#include "model/families/decoder_config.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kQwen3Types = {"qwen3"};

ModelDescription describe_qwen3(const io::JsonFields& config) {
  const DecoderSizes sizes = read_decoder_sizes(config, {.key_heads = 32, .head_size = 128});
  LayerDescription layer = read_llama_layer(config, sizes);
  layer.attention.bias = layer.attention.output_bias = config.boolean("attention_bias", false);
  layer.attention.query_key_norm = QueryKeyNorm::heads;
  ModelDescription description = decoder_of(sizes, layer);
  read_decoder_rest(config, description, false);
  read_qwen_windows(config, description);
  return description;
}

}  // namespace

constinit const Family kQwen3{.name = "qwen3",
                              .model_types = kQwen3Types,
                              .describe = describe_qwen3,
                              .names = llama_names,
                              .replaces_code = true};

}  // namespace attend::model
