// A checkpoint of random numbers with the tensor names of a family, in memory.
#pragma once

#include <attend/encoder.h>

#include <map>
#include <random>
#include <string>

namespace attend {

class RandomCheckpoint {
 public:
  explicit RandomCheckpoint(const EncoderShape& shape, const std::string& prefix = "",
                            DType dtype = DType::f32)
      : shape_(shape), prefix_(prefix), dtype_(dtype) {
    const std::int64_t e = shape.hidden;
    if (shape.family == "gpt2") {
      add("wte.weight", {shape.vocabulary, e});
      add("wpe.weight", {shape.positions, e});
      norm("ln_f");
    } else {
      add("embeddings.word_embeddings.weight", {shape.vocabulary, e});
      add("embeddings.position_embeddings.weight", {shape.positions, e});
      if (shape.types > 0) add("embeddings.token_type_embeddings.weight", {shape.types, e});
      norm("embeddings.LayerNorm");
    }
    if (shape.family == "mpnet")
      add("encoder.relative_attention_bias.weight", {shape.relative_buckets, shape.heads});
    for (std::int64_t i = 0; i < shape.layers; ++i) layer(std::to_string(i));
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
    add(name + ".weight", {shape_.hidden}, 1);
    add(name + ".bias", {shape_.hidden});
  }
  void linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", shape_.family == "gpt2" ? Dims{in, out} : Dims{out, in});
    add(name + ".bias", {out});
  }
  void layer(const std::string& i) {
    const std::int64_t e = shape_.hidden;
    if (shape_.family == "gpt2") {
      linear("h." + i + ".attn.c_attn", e, 3 * e);
      linear("h." + i + ".attn.c_proj", e, e);
      linear("h." + i + ".mlp.c_fc", e, shape_.inner);
      linear("h." + i + ".mlp.c_proj", shape_.inner, e);
      norm("h." + i + ".ln_1");
      norm("h." + i + ".ln_2");
      return;
    }
    const std::string l = "encoder.layer." + i + ".";
    const bool mpnet = shape_.family == "mpnet";
    for (const char* const part : {"query", "key", "value"}) {
      linear(mpnet ? l + "attention.attn." + part[0] : l + "attention.self." + part, e, e);
    }
    linear(mpnet ? l + "attention.attn.o" : l + "attention.output.dense", e, e);
    norm(mpnet ? l + "attention.LayerNorm" : l + "attention.output.LayerNorm");
    linear(l + "intermediate.dense", e, shape_.inner);
    linear(l + "output.dense", shape_.inner, e);
    norm(l + "output.LayerNorm");
  }

  EncoderShape shape_;
  std::string prefix_;
  DType dtype_;
  std::mt19937 random_{7};
};

inline EncoderShape small_shape(const std::string& family) {
  EncoderShape shape{.family = family,
                     .hidden = 48,
                     .layers = 2,
                     .heads = 4,
                     .inner = 80,
                     .vocabulary = 50,
                     .positions = 70};
  if (family == "bert" || family == "roberta") shape.types = 2;
  if (family == "roberta" || family == "mpnet") shape.first_position = 2;
  if (family == "mpnet") shape.relative_buckets = 32;
  if (family == "gpt2") {
    shape.norm_first = shape.causal = true;
    shape.activation = Activation::gelu_tanh;
  }
  return shape;
}

}  // namespace attend
