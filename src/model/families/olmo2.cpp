// OLMo 2 (OLMo team 2024): Llama with norms of what each part gives in place of what it reads, and norms of
// all queries and of all keys as one vector.
#include <array>

#include "model/families/decoder_config.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kOlmo2Types = {"olmo2"};

ModelDescription describe_olmo2(const io::JsonFields& config) {
  const DecoderSizes sizes = read_decoder_sizes(config);
  LayerDescription layer = read_llama_layer(config, sizes, 1e-5);
  layer.norm.place = NormPlace::inside;
  layer.attention.bias = layer.attention.output_bias = config.boolean("attention_bias", false);
  layer.attention.query_key_norm = QueryKeyNorm::whole;
  ModelDescription description = decoder_of(sizes, layer);
  read_decoder_rest(config, description, false);
  return description;
}

}  // namespace

constinit const Family kOlmo2{.name = "olmo2",
                              .model_types = kOlmo2Types,
                              .describe = describe_olmo2,
                              .names = llama_names,
                              .replaces_code = true};

}  // namespace attend::model
