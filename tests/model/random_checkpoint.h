// A checkpoint of random numbers with the tensor names of a family, in memory.
#pragma once

#include <attend/encoder.h>

#include <map>
#include <random>
#include <string>

namespace attend {

class RandomCheckpoint {
 public:
  explicit RandomCheckpoint(const ModelConfig& config, const std::string& prefix = "",
                            DType dtype = DType::f32)
      : config_(config), prefix_(prefix), dtype_(dtype) {
    const std::int64_t e = config.hidden_size;
    if (config.family == ModelFamily::gpt2) {
      add("wte.weight", {config.vocabulary_size, e});
      add("wpe.weight", {config.positions, e});
      norm("ln_f");
    } else {
      add("embeddings.word_embeddings.weight", {config.vocabulary_size, e});
      add("embeddings.position_embeddings.weight", {config.positions, e});
      if (config.token_types > 0) add("embeddings.token_type_embeddings.weight", {config.token_types, e});
      norm("embeddings.LayerNorm");
    }
    if (config.family == ModelFamily::mpnet)
      add("encoder.relative_attention_bias.weight", {config.relative_buckets, config.heads});
    for (std::int64_t i = 0; i < config.layers; ++i) layer(std::to_string(i));
  }

  TensorSource source() const {
    return {.file = "random.safetensors",
            .contains = [this](const std::string& name) { return tensors.contains(name); },
            .tensor = [this](const std::string& name) -> ConstTensorView { return tensors.at(name); }};
  }

  std::map<std::string, Tensor> tensors;

 private:
  void add(const std::string& name, const Dims& shape, float around = 0) {
    std::normal_distribution<float> normal(around, 0.2F);
    Tensor values(DType::f32, shape);
    for (float& value : values.values<float>()) value = normal(random_);
    tensors[prefix_ + name] = copy_of(values, dtype_);
  }
  void norm(const std::string& name) {
    add(name + ".weight", {config_.hidden_size}, 1);
    add(name + ".bias", {config_.hidden_size});
  }
  void linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", config_.family == ModelFamily::gpt2 ? Dims{in, out} : Dims{out, in});
    add(name + ".bias", {out});
  }
  void layer(const std::string& i) {
    const std::int64_t e = config_.hidden_size;
    if (config_.family == ModelFamily::gpt2) {
      linear("h." + i + ".attn.c_attn", e, 3 * e);
      linear("h." + i + ".attn.c_proj", e, e);
      linear("h." + i + ".mlp.c_fc", e, config_.intermediate_size);
      linear("h." + i + ".mlp.c_proj", config_.intermediate_size, e);
      norm("h." + i + ".ln_1");
      norm("h." + i + ".ln_2");
      return;
    }
    const std::string l = "encoder.layer." + i + ".";
    const bool mpnet = config_.family == ModelFamily::mpnet;
    for (const char* const part : {"query", "key", "value"}) {
      linear(mpnet ? l + "attention.attn." + part[0] : l + "attention.self." + part, e, e);
    }
    linear(mpnet ? l + "attention.attn.o" : l + "attention.output.dense", e, e);
    norm(mpnet ? l + "attention.LayerNorm" : l + "attention.output.LayerNorm");
    linear(l + "intermediate.dense", e, config_.intermediate_size);
    linear(l + "output.dense", config_.intermediate_size, e);
    norm(l + "output.LayerNorm");
  }

  ModelConfig config_;
  std::string prefix_;
  DType dtype_;
  std::mt19937 random_{7};
};

inline ModelConfig small_model(ModelFamily family) {
  ModelConfig config{.family = family,
                     .hidden_size = 48,
                     .layers = 2,
                     .heads = 4,
                     .intermediate_size = 80,
                     .vocabulary_size = 50,
                     .positions = 70};
  if (family == ModelFamily::bert || family == ModelFamily::roberta) config.token_types = 2;
  if (family == ModelFamily::roberta || family == ModelFamily::mpnet) config.first_position = 2;
  if (family == ModelFamily::mpnet) {
    config.relative_buckets = 32;
    config.relative_distance = 128;
  }
  if (family == ModelFamily::gpt2) {
    config.norm_first = config.causal = true;
    config.activation = Activation::gelu_tanh;
  }
  return config;
}

}  // namespace attend
