// A checkpoint of random numbers with the tensor names of a family, in memory.
#pragma once

#include <attend/transformer.h>

#include <map>
#include <random>
#include <string>

#include "model/layer.h"
#include "model/small_models.h"

namespace attend {

class RandomCheckpoint {
 public:
  // deviation 0: all numbers are zeros.
  explicit RandomCheckpoint(const ModelDescription& description, const std::string& prefix = "",
                            DType dtype = DType::f32, float deviation = 0.2F)
      : hidden_(description.hidden_size), prefix_(prefix), dtype_(dtype), deviation_(deviation) {
    const model::TensorNames names = model::family_of(description).names(description);
    names_ = names;
    const std::int64_t row = description.table_size();
    add(names.words, {description.vocabulary_size, row});
    if (description.positions == PositionKind::learned)
      add(names.positions, {description.position_count, row});
    if (description.token_types > 0) add(names.types, {description.token_types, row});
    if (description.embedding_norm) {
      norm(names.embedding_norm, row, description.embedding_norm->bias);
      norm(names.source_embedding_norm, row, description.embedding_norm->bias);
    }
    if (description.embedding_size) linear(names.embedding_projection, row, hidden_, true);
    if (description.final_norm) {
      norm(names.final_norm, hidden_, description.final_norm->bias);
      norm(names.source_final_norm, hidden_, description.final_norm->bias);
    }
    const AttentionDescription& attention = description.layers.front().attention;
    for (const std::string& name : {names.relative_bias, names.source_relative_bias})
      add(name, {attention.relative_buckets.buckets, attention.heads});
    for (std::size_t i = 0; i < description.layers.size(); ++i) layer(description.layers[i], names.layers[i]);
  }

  TensorSource source() const {
    return {.file = "random.safetensors",
            .contains = [this](const std::string& name) { return tensors.contains(name); },
            .tensor = [this](const std::string& name) -> ConstTensorView { return tensors.at(name); }};
  }

  std::map<std::string, Tensor> tensors;

 private:
  void add(const std::string& name, const Dims& shape, float around = 0) {
    if (name.empty()) return;
    std::normal_distribution<float> normal(around, 1);
    Tensor values(DType::f32, shape);
    for (float& value : values.values<float>())
      value = deviation_ == 0 ? 0 : around + deviation_ * (normal(random_) - around);
    tensors[prefix_ + name] = copy_of(values, dtype_);
  }
  void norm(const std::string& name, std::int64_t size, bool bias) {
    if (name.empty()) return;
    add(name + (names_.gamma_and_beta ? ".gamma" : ".weight"), {size}, 1);
    if (bias) add(name + (names_.gamma_and_beta ? ".beta" : ".bias"), {size});
  }
  void linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias) {
    if (name.empty()) return;
    add(name + ".weight", names_.input_first ? Dims{in, out} : Dims{out, in});
    if (bias) add(name + ".bias", {out});
  }
  void side_by_side(const std::vector<std::string>& names, const std::vector<std::int64_t>& columns,
                    bool bias) {
    std::int64_t sum = 0;
    for (const std::int64_t count : columns) sum += count;
    for (std::size_t i = 0; i < names.size(); ++i)
      linear(names[i], hidden_, names.size() == 1 ? sum : columns[i], bias);
  }
  void layer(const LayerDescription& layer, const model::LayerNames& names) {
    const AttentionDescription& attention = layer.attention;
    const std::int64_t q = model::query_columns(attention), k = model::key_columns(attention);
    const bool cross = layer.kind == LayerKind::cross;
    side_by_side(names.projected, cross ? std::vector{q} : std::vector{q, k, k}, attention.bias);
    side_by_side(names.context, {k, k}, attention.bias);
    const bool by_head = attention.query_key_norm == QueryKeyNorm::heads;
    norm(names.query_norm, by_head ? attention.head_size : q, layer.norm.bias);
    norm(names.key_norm, by_head ? attention.head_size : k, layer.norm.bias);
    if (attention.sinks) add(names.sinks, {attention.heads});
    linear(names.out, q, hidden_, attention.output_bias);
    norm(names.attention_norm, hidden_, layer.norm.bias);
    norm(names.attention_out_norm, hidden_, layer.norm.bias);
    if (!layer.feed_forward) return;
    const FeedForwardDescription& part = *layer.feed_forward;
    side_by_side(names.up, part.gated ? std::vector{part.size, part.size} : std::vector{part.size},
                 part.bias);
    linear(names.down, part.size, hidden_, part.bias);
    norm(names.feed_forward_norm, hidden_, layer.norm.bias);
    norm(names.feed_forward_out_norm, hidden_, layer.norm.bias);
  }

  std::int64_t hidden_;
  std::string prefix_;
  DType dtype_;
  float deviation_;
  model::TensorNames names_;
  std::mt19937 random_{7};
};

}  // namespace attend
