// The weights of an encoder as its forward pass reads them: matrices packed, the rest as the file has it.
#pragma once

#include <attend/encoder.h>
#include <attend/matmul.h>
#include <attend/tensor.h>

#include <mutex>
#include <string>
#include <vector>

#include "model/names.h"

namespace attend {

struct LinearLayer {
  PackedMatrix matrix;  // (in, out)
  Tensor bias;          // (out)
};

struct NormLayer {
  Tensor gamma, beta;  // RMSNorm has no beta
};

struct TransformerLayer {
  LinearLayer qkv;  // queries, keys and values side by side: one product; of a cross layer the queries
  LinearLayer out;
  NormLayer attention_norm;
  LinearLayer up, down;
  NormLayer output_norm;
  LinearLayer context{};  // of a cross layer: keys and values of the source

  bool has_feed_forward() const noexcept { return up.matrix.columns() > 0; }
};

// The matrices of a layer transposed, as gradients are multiplied by them.
struct TransposedLayer {
  PackedMatrix qkv, out, up, down, context;
};

struct Encoder::Weights {
  TensorSource source;                      // keeps alive what the next three look at
  ConstTensorView words, positions, types;  // where they lie: a text touches few of their rows
  Tensor packed;  // all matrices, side by side: a text reads them all, and large pages halve that
  NormLayer embedding_norm, source_embedding_norm;
  std::vector<TransformerLayer> layers;
  NormLayer final_norm, encoder_norm;
  Tensor relative_bias;  // (buckets, heads)

  Weights(const ModelConfig& config, const TensorSource& tensors);

  // The norm behind layer `index`, from 0; none: a null pointer.
  const NormLayer* norm_behind(const ModelConfig& config, std::int64_t index) const noexcept;

  // One for each layer, as large as the layers' matrices. Made by whoever asks first, from the packed ones:
  // the file may have changed since, and its numbers may have been rounded.
  const std::vector<TransposedLayer>& transposed() const;

 private:
  class Loader;
  void read(const ModelConfig& config, const Loader& load);

  mutable std::once_flag transposed_once_;
  mutable std::vector<TransposedLayer> transposed_;
};

}  // namespace attend
