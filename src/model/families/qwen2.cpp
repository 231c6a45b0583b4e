// Qwen 2 and 2.5 (Yang et al. 2024): Llama with biases of queries, keys and values, and windows from some
// layer on where the file asks for them.
#include <array>

#include "model/families/decoder_config.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kQwen2Types = {"qwen2"};

ModelDescription describe_qwen2(const io::JsonFields& config) {
  const DecoderSizes sizes = read_decoder_sizes(config, {.key_heads = 32});
  LayerDescription layer = read_llama_layer(config, sizes);
  layer.attention.bias = true;
  ModelDescription description = decoder_of(sizes, layer);
  read_decoder_rest(config, description, false);
  read_qwen_windows(config, description);
  return description;
}

}  // namespace

constinit const Family kQwen2{.name = "qwen2",
                              .model_types = kQwen2Types,
                              .describe = describe_qwen2,
                              .names = llama_names,
                              .replaces_code = true};

}  // namespace attend::model
