// Mistral (Jiang et al. 2023): Llama with a window on every layer, unless the file says null.
#include <array>

#include "model/families/decoder_config.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kMistralTypes = {"mistral"};

ModelDescription describe_mistral(const io::JsonFields& config) {
  const DecoderSizes sizes = read_decoder_sizes(config, {.key_heads = 8});
  LayerDescription layer = read_llama_layer(config, sizes);
  ModelDescription description = decoder_of(sizes, layer);
  read_decoder_rest(config, description, false);
  if (config.has("layer_types"))
    config.refuse("layer_types", "is not supported in this family, whose layers all have the same window");
  if (const std::optional<std::int64_t> window = read_window(config, 4096)) {
    for (LayerDescription& each : description.layers) set_window(each.attention, *window);
  }
  return description;
}

}  // namespace

constinit const Family kMistral{.name = "mistral",
                                .model_types = kMistralTypes,
                                .describe = describe_mistral,
                                .names = llama_names,
                                .replaces_code = true};

}  // namespace attend::model
