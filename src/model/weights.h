// The weights of a model that reads, as its forward pass takes them: matrices packed, the rest as the file
// has it.
#pragma once

#include <attend/matmul.h>
#include <attend/tensor.h>
#include <attend/transformer.h>

#include <mutex>
#include <string>
#include <vector>

#include "model/layer.h"
#include "model/tensor_names.h"
#include "model/word_table.h"

namespace attend::model {

struct StoredLinear {
  PackedMatrix matrix{};  // (in, out)
  Tensor bias{};          // (out), or no elements
  LinearWeights view(const PackedMatrix* transposed = nullptr) const;
};

struct StoredNorm {
  Tensor gamma{}, beta{};  // RMSNorm has no beta
  NormWeights view() const;
};

// As LayerWeights has them.
struct StoredLayer {
  StoredLinear projected{}, context{}, out{}, up{}, down{};
  StoredNorm query_norm{}, key_norm{}, attention_norm{}, feed_forward_norm{};
  StoredNorm attention_out_norm{}, feed_forward_out_norm{};
  std::vector<double> sinks{};
};

class ModelWeights {
 public:
  // Every tensor is compared with the description before memory is asked for: only what the file really holds
  // may decide how much. Throws FileError for a tensor that is missing or of another shape.
  ModelWeights(const ModelDescription& description, const TensorSource& tensors,
               Precision precision = Precision::f32);

  Precision precision() const noexcept { return precision_; }

  TensorSource source;               // keeps alive what the next three look at
  WordTable words;                   // in place, not copied: a text touches few rows
  ConstTensorView positions, types;  // likewise
  StoredNorm embedding_norm, source_embedding_norm;
  StoredLinear embedding_projection;
  StoredNorm final_norm, source_final_norm;
  Tensor relative_bias, source_relative_bias;  // (buckets, heads)
  const Tensor& relative_bias_of(LayerKind kind) const {
    return kind == LayerKind::encoder ? source_relative_bias : relative_bias;
  }

  // Of the layer with this index, from 0; layers that share their weights have one.
  const StoredLayer& stored(std::int64_t index) const {
    return layers_[owners_[static_cast<std::size_t>(index)]];
  }

  const LayerWeights& layer(std::int64_t index) const { return views_[static_cast<std::size_t>(index)]; }
  // With the transposed matrices that gradients are multiplied by, which double the memory. Made on first
  // use, from the packed ones: the file may have changed since, and its numbers may have been rounded.
  const LayerWeights& layer_for_backward(std::int64_t index) const;

  // The norm after layer `index`, from 0, which is not the layer's own; null if there is none.
  const StoredNorm* norm_after(const ModelDescription& description, std::int64_t index) const noexcept;

 private:
  struct TransposedLayer {
    PackedMatrix projected, context, out, up, down;
  };
  class Loader;
  void read(const ModelDescription& description, const Loader& load);

  Precision precision_;
  Tensor packed_;  // all matrices, side by side: a text reads them all, and large pages halve that
  std::vector<StoredLayer> layers_;  // each once
  std::vector<std::size_t> owners_;  // of each layer of the model: its place in layers_
  std::vector<LayerWeights> views_;  // of each layer of the model, as backward_views_
  mutable std::once_flag transposed_once_;
  mutable std::vector<TransposedLayer> transposed_;  // as layers_
  mutable std::vector<LayerWeights> backward_views_;
};

// The names of a model's tensors in this source. Throws FileError where it has the tensors of another kind of
// model.
TensorNames names_in(const ModelDescription& description, const TensorSource& tensors);

// What a norm of this name is made of in this source: gamma first.
struct NormTensorNames {
  std::string gamma, beta;
};
NormTensorNames norm_tensors(const TensorSource& tensors, const std::string& name);

}  // namespace attend::model
