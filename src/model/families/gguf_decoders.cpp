// Models that write, as GGUF files store them.
#include <cmath>

#include "model/families/gguf_form.h"
#include "model/families/gguf_keys.h"

namespace attend::model {
namespace {

constexpr NormDescription norm_at_the_end(const LayerDescription& layer) {
  NormDescription norm = layer.norm;
  norm.place = NormPlace::before;
  return norm;
}

ModelDescription gguf_decoder(const GgufKeys& keys, const LayerDescription& layer) {
  ModelDescription description = gguf_model(keys, layer);
  description.positions = PositionKind::none;
  description.final_norm = norm_at_the_end(layer);
  return description;
}

// Rows of queries and keys are stored so that neighbours rotate together: nothing is put back in order, the
// description says so.
ModelDescription describe_gguf_llama(const GgufKeys& keys) {
  return gguf_decoder(keys, gguf_decoder_layer(keys, RotaryPairing::interleaved));
}

ModelDescription describe_gguf_qwen2(const GgufKeys& keys) {
  return gguf_decoder(keys, gguf_decoder_layer(keys));
}

ModelDescription describe_gguf_qwen3(const GgufKeys& keys) {
  LayerDescription layer = gguf_decoder_layer(keys);
  layer.attention.query_key_norm = QueryKeyNorm::heads;
  return gguf_decoder(keys, layer);
}

// Norms hold 1 + w already. The scale of scores is not stored: it is that of a head's size, but for the
// largest model, which is known by its number of layers and has that of hidden size by heads.
ModelDescription gguf_gemma(const GgufKeys& keys, LayerDescription layer, std::int64_t layers_of_largest) {
  layer.norm.place = NormPlace::around;
  layer.feed_forward->activation = Activation::gelu_tanh;
  ModelDescription description = gguf_decoder(keys, layer);
  description.embedding_scale = std::sqrt(static_cast<double>(description.hidden_size));
  for (LayerDescription& each : description.layers) {
    const std::int64_t size = description.layer_count() == layers_of_largest
                                  ? description.hidden_size / each.attention.heads
                                  : each.attention.head_size;
    each.attention.scale = 1 / std::sqrt(static_cast<double>(size));
  }
  return description;
}

ModelDescription describe_gguf_gemma2(const GgufKeys& keys) {
  LayerDescription layer = gguf_decoder_layer(keys);
  layer.attention.softcap = keys.positive("attn_logit_softcapping", 50);
  ModelDescription description = gguf_gemma(keys, layer, 46);
  description.output_softcap = keys.positive("final_logit_softcapping", 30);
  const std::int64_t window = keys.size("attention.sliding_window", 4096);
  for (std::size_t i = 0; i < description.layers.size(); i += 2)
    set_gguf_window(description.layers[i].attention, window);
  return description;
}

ModelDescription describe_gguf_gemma3(const GgufKeys& keys) {
  LayerDescription layer = gguf_decoder_layer(keys);
  layer.attention.query_key_norm = QueryKeyNorm::heads;
  ModelDescription description = gguf_gemma(keys, layer, 62);
  if (keys.has("final_logit_softcapping"))
    description.output_softcap = keys.positive("final_logit_softcapping");
  const std::int64_t window = keys.size("attention.sliding_window", 4096);
  const std::int64_t pattern = keys.size("attention.sliding_window_pattern", 6);
  const bool has_base = keys.has("rope.freq_base");
  const double local_base = keys.positive("rope.freq_base_swa", 10000);
  for (std::size_t i = 0; i < description.layers.size(); ++i) {
    AttentionDescription& attention = description.layers[i].attention;
    if (!has_base) attention.rotary.base = 1e6;
    if ((static_cast<std::int64_t>(i) + 1) % pattern == 0) continue;
    attention.rotary.base = local_base;
    attention.rotary.divisors.clear();  // texts are stretched where a layer sees all of them
    set_gguf_window(attention, window);
  }
  return description;
}

// One tensor for queries, keys and values, one for gate and up; long texts have divisors of their own.
ModelDescription describe_gguf_phi3(const GgufKeys& keys) {
  ModelDescription description = gguf_decoder(keys, gguf_decoder_layer(keys));
  Rotary rotary = description.layers.front().attention.rotary;
  if (keys.has_tensor("rope_factors_short.weight")) {
    const std::int64_t pairs = rotary.dimensions / 2;
    rotary.divisors = keys.values("rope_factors_short.weight", pairs);
    rotary.long_divisors = keys.values("rope_factors_long.weight", pairs);
    rotary.long_text = keys.size("rope.scaling.original_context_length", 4096);
    const double factor =
        static_cast<double>(description.position_count) / static_cast<double>(rotary.long_text);
    const double usual =
        factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(rotary.long_text)));
    rotary.magnitude = keys.positive("rope.scaling.attn_factor", usual);
  }
  const std::int64_t window = keys.size("attention.sliding_window", 0, 0);
  for (LayerDescription& layer : description.layers) {
    layer.attention.rotary = rotary;
    if (window > 0) set_gguf_window(layer.attention, window);
  }
  return description;
}

ModelDescription describe_gguf_gpt2(const GgufKeys& keys) {
  LayerDescription layer{.feed_forward = FeedForwardDescription{.activation = Activation::gelu_tanh}};
  layer.norm = {.place = NormPlace::before, .epsilon = keys.epsilon("attention.layer_norm_epsilon")};
  layer.attention.causal = true;
  ModelDescription description = gguf_model(keys, layer);
  description.final_norm = layer.norm;
  return description;
}

}  // namespace

constinit const GgufForm kGgufLlama{"llama", "llama", describe_gguf_llama, gguf_tensor_names};
constinit const GgufForm kGgufQwen2{"qwen2", "qwen2", describe_gguf_qwen2, gguf_tensor_names};
constinit const GgufForm kGgufQwen3{"qwen3", "qwen3", describe_gguf_qwen3, gguf_tensor_names};
constinit const GgufForm kGgufGemma2{"gemma2", "gemma2", describe_gguf_gemma2, gguf_tensor_names};
constinit const GgufForm kGgufGemma3{"gemma3", "gemma3", describe_gguf_gemma3, gguf_tensor_names};
constinit const GgufForm kGgufPhi3{"phi3", "phi3", describe_gguf_phi3, gguf_tensor_names};
constinit const GgufForm kGgufGpt2{"gpt2", "gpt2", describe_gguf_gpt2, gguf_tensor_names};

}  // namespace attend::model
