// What decoders of today have in common when they read a config.json: sizes, windows, and one shape of layer
// that each family changes a little.
#pragma once

#include <attend/model_description.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "io/json_fields.h"
#include "model/families/rope_config.h"
#include "model/tensor_names.h"

namespace attend::model {

struct DecoderSizes {
  std::int64_t hidden = 0, layers = 0, heads = 0, key_heads = 0, head_size = 0, inner = 0;
  std::int64_t vocabulary = 0, positions = 0;
};

// fallback: what a family takes a size for that its file leaves out; 0: it must be there, but for key_heads,
// which are then as many as heads, and head_size, which is then hidden / heads.
DecoderSizes read_decoder_sizes(const io::JsonFields& config, const DecoderSizes& fallback = {});

// Llama's layer: RMSNorm before each part, rotary positions, a gate with SiLU, no biases.
LayerDescription llama_layer(double epsilon);

// The same with what most files say of it: epsilon, or else this one; rotary positions over whole heads; the
// gate's activation.
LayerDescription read_llama_layer(const io::JsonFields& config, const DecoderSizes& sizes,
                                  double epsilon = 1e-6);

// A model of these sizes whose layers are all like this one; the layer's own sizes are filled in, and the
// norm after the last layer is of its kind.
ModelDescription decoder_of(const DecoderSizes& sizes, LayerDescription layer);

// The rest of what every decoder's config.json may say of its output, its end tokens and its attention, which
// may look at all tokens; and refusals of what would make it another model.
// layer_type: whose rotary positions say how long a text may be, in families that tell types of layers apart.
void read_decoder_rest(const io::JsonFields& config, ModelDescription& description, bool tied,
                       std::string_view layer_type = {});

// The activation of a gate.
Activation read_gate_activation(const io::JsonFields& config, std::string_view key,
                                std::string_view fallback);

// Windows: how many keys a token sees, itself among them. null in the file: none, whatever the fallback.
std::optional<std::int64_t> read_window(const io::JsonFields& config, std::optional<std::int64_t> fallback);
// That of a layer, at both sides where it is not causal.
void set_window(AttentionDescription& attention, std::int64_t window);
// Whether each layer has a window: as layer_types says, or else this function of the layer's index, from 0.
std::vector<bool> read_layer_types(const io::JsonFields& config, std::int64_t layers,
                                   const std::function<bool(std::int64_t)>& slides);
// The windows of Qwen 2 and 3.
void read_qwen_windows(const io::JsonFields& config, ModelDescription& description);

// Names as Llama has them, and those that Gemma, OLMo 2 and Qwen 3 have for norms in other places.
TensorNames llama_names(const ModelDescription& description);

}  // namespace attend::model
