#include "model/families/gguf_keys.h"

#include <algorithm>
#include <cmath>

#include "io/json_fields.h"

namespace attend::model {
namespace {

// How scores turn with positions, where that is not the usual way. The tensor rope_freqs is Llama 3's.
Rotary read_gguf_rotary(const GgufKeys& keys, std::int64_t head_size, RotaryPairing pairing) {
  Rotary rotary{.base = keys.positive("rope.freq_base", 10000), .pairing = pairing};
  rotary.dimensions = keys.size("rope.dimension_count", head_size);
  if (rotary.dimensions > head_size || rotary.dimensions % 2 != 0) {
    keys.refuse("rope.dimension_count", "is ", rotary.dimensions, ", expected an even number up to ",
                head_size, ", the size of a head");
  }
  const auto pairs = static_cast<std::size_t>(rotary.dimensions / 2);
  const std::string_view type = keys.file().string(keys.key("rope.scaling.type"), "none");
  if (type == "linear") {
    rotary.divisors.assign(pairs, keys.positive("rope.scaling.factor"));
  } else if (type != "none" && type != "longrope") {
    keys.refuse("rope.scaling.type", io::quoted(type), " is not supported: none, linear, longrope");
  }
  if (keys.has_tensor("rope_freqs.weight"))
    rotary.divisors = keys.values("rope_freqs.weight", static_cast<std::int64_t>(pairs));
  return rotary;
}

std::string block(std::size_t index) { return "blk." + std::to_string(index) + "."; }

}  // namespace

std::int64_t GgufKeys::size(std::string_view name, std::optional<std::int64_t> fallback,
                            std::int64_t low) const {
  const std::string where = key(name);
  const std::optional<GgufValue> value = file_.find(where);
  if (!value || !value->is_array()) return file_.integer(where, low, io::kLargestSize, fallback);
  const std::vector<std::int64_t> all = value->integers();
  if (all.empty() || std::count(all.begin(), all.end(), all.front()) != std::ssize(all))
    refuse(name, "layers of different sizes are not supported");
  if (all.front() < low || all.front() > io::kLargestSize)
    refuse(name, "is ", all.front(), ", expected a whole number from ", low, " to ", io::kLargestSize);
  return all.front();
}

double GgufKeys::number(std::string_view name, std::optional<double> fallback) const {
  return file_.number(key(name), fallback);
}

double GgufKeys::positive(std::string_view name, std::optional<double> fallback) const {
  const double value = number(name, fallback);
  if (!(value > 0)) refuse(name, "is ", value, ", expected a positive number");
  return value;
}

double GgufKeys::epsilon(std::string_view name) const {
  const double value = number(name);
  if (!(value > 0 && value < 1)) refuse(name, "is ", value, ", expected a number between 0 and 1");
  return value;
}

void GgufKeys::refuse_experts() const {
  if (size("expert_count", 0, 0) > 0) refuse("expert_count", "mixtures of experts are not supported");
}

std::vector<double> GgufKeys::values(const std::string& name, std::int64_t size) const {
  const Tensor exact = copy_of(tensors_.tensor(name, {size}), DType::f64);
  const std::vector<double> values(exact.values<double>().begin(), exact.values<double>().end());
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value))
      io::fail(file_.file(), name, "holds ", value, ", expected positive numbers");
  }
  return values;
}

ModelDescription gguf_model(const GgufKeys& keys, LayerDescription layer) {
  keys.refuse_experts();
  ModelDescription description;
  const Dims words = keys.shape("token_embd.weight");
  if (words.rank() != 2)
    io::fail(keys.file().file(), "token_embd.weight", "has shape ", to_string(words), ", expected a table");
  description.hidden_size = keys.size("embedding_length");
  description.vocabulary_size = words[0];
  description.position_count = keys.size("context_length");

  AttentionDescription& attention = layer.attention;
  attention.heads = keys.size("attention.head_count");
  attention.key_heads = keys.size("attention.head_count_kv", attention.heads);
  if (attention.heads % attention.key_heads != 0) {
    keys.refuse("attention.head_count_kv", "is ", attention.key_heads, ", not a divisor of the ",
                attention.heads, " heads");
  }
  if (!keys.has("attention.key_length") && description.hidden_size % attention.heads != 0)
    keys.refuse("attention.head_count", "is ", attention.heads, ", not a divisor of ",
                description.hidden_size);
  attention.head_size = keys.size("attention.key_length", description.hidden_size / attention.heads);
  if (keys.size("attention.value_length", attention.head_size) != attention.head_size)
    keys.refuse("attention.value_length", "expected that of keys, ", attention.head_size);
  if (attention.positions == PositionKind::rotary)
    attention.rotary = read_gguf_rotary(keys, attention.head_size, attention.rotary.pairing);
  attention.causal = keys.boolean("attention.causal", attention.causal);
  attention.bias = keys.has_tensor("blk.0.attn_q.bias") || keys.has_tensor("blk.0.attn_qkv.bias");
  attention.output_bias = keys.has_tensor("blk.0.attn_output.bias");
  layer.feed_forward->size = keys.size("feed_forward_length");
  layer.feed_forward->bias = keys.has_tensor("blk.0.ffn_up.bias");

  const std::int64_t layers = keys.size("block_count");
  if (layers > kMostModelLayers)
    keys.refuse("block_count", "is ", layers, ", expected at most ", kMostModelLayers);
  // Each layer has tensors of its own: a count that the file does not have is refused before it is believed.
  if (!keys.has_tensor(block(static_cast<std::size_t>(layers) - 1) + "ffn_down.weight"))
    keys.refuse("block_count", "is ", layers, ", and there is no tensor of layer ", layers - 1,
                " that the file should have");
  description.layers.assign(static_cast<std::size_t>(layers), layer);
  description.tied_output = !keys.has_tensor("output.weight");
  return description;
}

LayerDescription gguf_decoder_layer(const GgufKeys& keys, RotaryPairing pairing) {
  LayerDescription layer{.feed_forward =
                             FeedForwardDescription{.activation = Activation::silu, .gated = true}};
  layer.norm = {.kind = NormKind::rms,
                .place = NormPlace::before,
                .epsilon = keys.epsilon("attention.layer_norm_rms_epsilon")};
  layer.attention.causal = true;
  layer.attention.positions = PositionKind::rotary;
  layer.attention.rotary.pairing = pairing;
  return layer;
}

void set_gguf_window(AttentionDescription& attention, std::int64_t tokens) {
  attention.window.left = tokens - 1;
}

TensorNames gguf_tensor_names(const ModelDescription& description, const TensorSource& tensors) {
  TensorNames names{.words = "token_embd.weight",
                    .positions = "position_embd.weight",
                    .types = "token_types.weight",
                    .embedding_norm = "token_embd_norm",
                    .final_norm = "output_norm"};
  for (std::size_t i = 0; i < description.layers.size(); ++i) {
    const std::string b = block(i);
    const bool fused = tensors.contains(b + "attn_qkv.weight");
    const bool fused_gate = !tensors.contains(b + "ffn_gate.weight");  // or none
    LayerNames layer;
    layer.projected =
        fused ? std::vector{b + "attn_qkv"} : std::vector{b + "attn_q", b + "attn_k", b + "attn_v"};
    layer.query_norm = b + "attn_q_norm";
    layer.key_norm = b + "attn_k_norm";
    layer.out = b + "attn_output";
    layer.attention_norm = b + "attn_norm";
    layer.up = fused_gate ? std::vector{b + "ffn_up"} : std::vector{b + "ffn_gate", b + "ffn_up"};
    layer.down = b + "ffn_down";
    layer.feed_forward_norm = b + "ffn_norm";
    if (description.layers[i].norm.place == NormPlace::around) {
      layer.attention_out_norm = b + "post_attention_norm";
      layer.feed_forward_out_norm = b + "post_ffw_norm";
    }
    names.layers.push_back(std::move(layer));
  }
  names.output.tables = {"output.weight"};
  return names;
}

}  // namespace attend::model
