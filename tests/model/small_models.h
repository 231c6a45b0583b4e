// Small models: one of each family, as its config.json says, and one for each feature that the layers of
// current models have.
#pragma once

#include <attend/model_description.h>

#include <cstring>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "model/families/family.h"
#include "model/own_model.h"

namespace attend {

inline ModelDescription described(const std::string& config_json) {
  io::FileText text{.name = "config.json", .memory = nullptr, .size = config_json.size()};
  text.memory = std::make_unique<char[]>(config_json.size() + 64);  // the reader looks past the end
  std::memcpy(text.memory.get(), config_json.data(), config_json.size());
  return model::describe_model(std::move(text));
}

inline ModelDescription small_model(const std::string& family) {
  const std::string sizes =
      R"("hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 80, "vocab_size": 50, "max_position_embeddings": 70)";
  if (family == "gpt2") {
    return described(
        R"({"model_type": "gpt2", "n_embd": 48, "n_layer": 2, "n_head": 4, "n_inner": 80, "vocab_size": 50, "n_positions": 70})");
  }
  if (family == "distilbert") {
    return described(
        R"({"model_type": "distilbert", "dim": 48, "n_layers": 2, "n_heads": 4, "hidden_dim": 80, "vocab_size": 50, "max_position_embeddings": 70})");
  }
  if (family == "t5") {
    return described(
        R"({"model_type": "t5", "architectures": ["T5EncoderModel"], "d_model": 48, "num_layers": 2, "num_heads": 4, "d_kv": 10, "d_ff": 80, "vocab_size": 50, "n_positions": 70})");
  }
  std::string more;
  if (family == "modernbert") more = R"(, "local_attention": 9, "global_attn_every_n_layers": 2)";
  if (family == "gpt_neox") more = R"(, "rotary_pct": 0.5)";
  if (family == "llama" || family == "gemma2" || family == "gemma3_text" || family == "olmo2" ||
      family == "phi3" || family == "qwen3")
    more = R"(, "num_key_value_heads": 2, "head_dim": 10, "sliding_window": 5, "sliding_window_pattern": 2)";
  return described("{\"model_type\": \"" + family + "\", " + sizes + more + "}");
}

struct NamedDescription {
  std::string name;
  ModelDescription description;
};
inline std::ostream& operator<<(std::ostream& out, const NamedDescription& model) {
  return out << model.name;
}

// A decoder of attend's own family, changed.
template <class Change>
NamedDescription changed(const char* name, const Change& change) {
  const model::OwnModel own{
      .vocabulary = 50, .length = 70, .layers = 2, .hidden = 48, .heads = 4, .inner = 40};
  NamedDescription model{name, model::describe(own)};
  for (std::size_t i = 0; i < 2; ++i) change(model.description.layers[i], i);
  return model;
}

inline std::vector<NamedDescription> modern_models() {
  std::vector<NamedDescription> list;
  using Layer = LayerDescription;
  list.push_back(changed("shared_keys", [](Layer& layer, std::size_t) { layer.attention.key_heads = 2; }));
  list.push_back(changed("one_key_head", [](Layer& layer, std::size_t) { layer.attention.key_heads = 1; }));
  list.push_back(changed("large_heads", [](Layer& layer, std::size_t) { layer.attention.head_size = 20; }));
  list.push_back(changed("no_biases", [](Layer& layer, std::size_t i) {
    layer.attention.bias = i == 1;
    layer.attention.output_bias = layer.feed_forward->bias = false;
  }));
  list.push_back(changed("windows", [](Layer& layer, std::size_t i) {
    if (i == 0) layer.attention.window = {.left = 3, .right = Window::kUnlimited};
  }));
  list.push_back(changed("head_norms", [](Layer& layer, std::size_t i) {
    layer.attention.query_key_norm = i == 0 ? QueryKeyNorm::heads : QueryKeyNorm::whole;
    layer.attention.key_heads = 2;
    layer.norm.kind = NormKind::rms;
  }));
  list.push_back(changed("softcap", [](Layer& layer, std::size_t i) {
    layer.attention.softcap = 2;
    if (i == 1) layer.attention.scale = 0.5;
  }));
  list.push_back(changed("sinks", [](Layer& layer, std::size_t) { layer.attention.sinks = true; }));
  list.push_back(changed("rotary", [](Layer& layer, std::size_t i) {
    layer.attention.positions = PositionKind::rotary;
    layer.attention.rotary = {.base = i == 0 ? 10000.0 : 500.0,
                              .dimensions = i == 0 ? 0 : 6,
                              .pairing = i == 0 ? RotaryPairing::halves : RotaryPairing::interleaved};
  }));
  list.push_back(changed("stretched_rotary", [](Layer& layer, std::size_t i) {
    layer.attention.positions = PositionKind::rotary;
    layer.attention.rotary = {.base = 300, .divisors = {1, 1.5, 2, 2.5, 4, 8}, .magnitude = 1.25};
    if (i == 1) layer.attention.rotary.dimensions = 12;  // all of them
  }));
  // Rotations of a text of more than 10 tokens are others; but not over a cache, where it grows.
  list.push_back(changed("long_rotary", [](Layer& layer, std::size_t i) {
    layer.attention.positions = PositionKind::rotary;
    layer.attention.rotary.long_text = 10;
    if (i == 0) layer.attention.rotary.long_divisors = {1, 2, 3, 4, 5, 6};
    if (i == 1) layer.attention.rotary.growth = 2;
  }));
  list.push_back(changed("one_plus_w", [](Layer& layer, std::size_t) {
    layer.norm.kind = NormKind::rms;
    layer.norm.plus_one = true;
  }));
  list.back().description.embedding_scale = 6.5;
  list.push_back(changed("gates", [](Layer& layer, std::size_t i) {
    layer.feed_forward->gated = true;
    layer.feed_forward->activation = i == 0 ? Activation::silu : Activation::gelu_tanh;
  }));
  list.push_back(changed("parallel", [](Layer& layer, std::size_t) { layer.feed_forward->parallel = true; }));
  list.push_back(changed("norms_around", [](Layer& layer, std::size_t) {
    layer.norm.place = NormPlace::around;
    layer.norm.kind = NormKind::rms;
  }));
  list.push_back(changed("norms_inside", [](Layer& layer, std::size_t) {
    layer.norm.place = NormPlace::inside;
    layer.attention.causal = false;
  }));
  list.push_back(changed("distances", [](Layer& layer, std::size_t) {
    layer.attention.positions = PositionKind::relative;
    layer.attention.relative_buckets = {.buckets = 6, .max_distance = 9, .bidirectional = false};
  }));
  list.push_back(changed("norms_without_biases", [](Layer& layer, std::size_t i) {
    layer.norm.bias = false;
    layer.attention_norm = i == 1;
  }));
  list.push_back(changed("one_layer_twice", [](Layer& layer, std::size_t i) {
    if (i == 1) layer.weights_of = 1;
  }));
  return list;
}

inline ModelDescription description_named(const std::string& name) {
  for (const NamedDescription& model : modern_models()) {
    if (model.name == name) return model.description;
  }
  return small_model(name);
}

inline std::vector<std::string> names_of_models() {
  std::vector<std::string> names{"bert",        "roberta",    "distilbert", "mpnet",   "gpt2",  "electra",
                                 "albert",      "modernbert", "nomic_bert", "t5",      "llama", "gemma2",
                                 "gemma3_text", "olmo2",      "phi3",       "gpt_neox"};
  for (const NamedDescription& model : modern_models()) names.push_back(model.name);
  return names;
}

}  // namespace attend
