// Phi-3 and 4-mini (Abdin et al. 2024): Llama with one tensor for queries, keys and values and one for gate
// and up, a part of each head that rotates, and LongRoPE, which early files call su or yarn.
#include <array>

#include "model/families/config_keys.h"
#include "model/families/decoder_config.h"
#include "model/families/families.h"

namespace attend::model {
namespace {

constexpr std::array<std::string_view, 1> kPhi3Types = {"phi3"};

ModelDescription describe_phi3(const io::JsonFields& config) {
  const DecoderSizes sizes = read_decoder_sizes(config);
  LayerDescription layer = llama_layer(read_epsilon(config, "rms_norm_eps", 1e-5));
  layer.attention.rotary = read_rotary(config, {.head_size = sizes.head_size,
                                                .positions = sizes.positions,
                                                .partial = true,
                                                .original = 4096,
                                                .yarn_is_longrope = true});
  layer.feed_forward->activation = read_gate_activation(config, "hidden_act", "silu");
  ModelDescription description = decoder_of(sizes, layer);
  read_decoder_rest(config, description, false);
  description.position_count = sizes.positions;  // LongRoPE's is what the file says
  if (const std::optional<std::int64_t> window = read_window(config, std::nullopt)) {
    for (LayerDescription& each : description.layers) set_window(each.attention, *window);
  }
  return description;
}

TensorNames name_phi3(const ModelDescription& description) {
  TensorNames names = llama_names(description);
  for (std::size_t i = 0; i < names.layers.size(); ++i) {
    const std::string prefix = "layers." + std::to_string(i) + ".";
    names.layers[i].projected = {prefix + "self_attn.qkv_proj"};
    names.layers[i].up = {prefix + "mlp.gate_up_proj"};
  }
  return names;
}

}  // namespace

constinit const Family kPhi3{.name = "phi3",
                             .model_types = kPhi3Types,
                             .describe = describe_phi3,
                             .names = name_phi3,
                             .replaces_code = true};

}  // namespace attend::model
