#include "model/weights.h"

#include <attend/file_error.h>
#include <attend/interrupt.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "model/layer_math.h"
#include "model/tensor_source.h"

namespace attend {
namespace {

std::int64_t packed_floats(std::int64_t in, std::int64_t out) {
  return PackedMatrix::bytes_needed(in, out) / static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

// Without memory for packed matrices it compares every tensor with the configuration, and makes nothing of
// them: only what the file really holds may decide how much memory is asked for.
class Encoder::Weights::Loader {
 public:
  Loader(const ModelConfig& config, const TensorSource& tensors, std::optional<TensorView> packed = {})
      : config_(config), tensors_(tensors), names_(names_of(config, tensors)), packed_(packed) {}

  bool only_compares() const { return !packed_; }

  const Names& names() const { return names_; }

  // A tensor where it lies.
  ConstTensorView view(const std::string& name, const Dims& shape) const {
    return required_tensor(tensors_, name, shape);
  }

  NormLayer norm(const std::string& name) const {
    // Checkpoints made by old converters say gamma and beta.
    const bool old = !tensors_.contains(name + ".weight") && tensors_.contains(name + ".gamma");
    NormLayer norm{.gamma = vector(name + (old ? ".gamma" : ".weight"), config_.hidden_size), .beta = {}};
    if (config_.norm == NormKind::layer)
      norm.beta = vector(name + (old ? ".beta" : ".bias"), config_.hidden_size);
    return norm;
  }

  LinearLayer linear(const std::string& name, std::int64_t in, std::int64_t out) const {
    if (only_compares()) {
      matrix(name, in, out);
      view(name + ".bias", {out});
      return {};
    }
    LinearLayer layer{.matrix = PackedMatrix(packable(matrix(name, in, out)), place(in, out)),
                      .bias = vector(name + ".bias", out)};
    forget(name + ".weight");
    return layer;
  }

  // Several of the same input, side by side. Each is stored as (out, in), so they are stacked as they lie.
  LinearLayer stacked(const std::vector<std::string>& names, std::int64_t in, std::int64_t out) const {
    if (names.size() == 1) return linear(names[0], in, out);
    const std::int64_t part = out / static_cast<std::int64_t>(names.size());
    if (only_compares()) {
      for (const std::string& name : names) linear(name, in, part);
      return {};
    }
    Tensor stack(DType::f32, {out, in}), bias(DType::f32, {out});
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::int64_t begin = static_cast<std::int64_t>(i) * part;
      copy(view(names[i] + ".weight", {part, in}), stack.view().slice(0, begin, begin + part));
      copy(view(names[i] + ".bias", {part}), bias.view().slice(0, begin, begin + part));
      forget(names[i] + ".weight");
    }
    return {.matrix = PackedMatrix(stack.view().transposed(0, 1), place(in, out)), .bias = std::move(bias)};
  }

  TransformerLayer layer(std::int64_t index) const {
    const LayerNames n = names_.layer(index);
    const std::int64_t e = config_.hidden_size;
    TransformerLayer layer{.qkv = stacked(n.qkv, e, n.context.empty() ? 3 * e : e),
                           .out = linear(n.out, e, e),
                           .attention_norm = norm(n.attention_norm),
                           .up = {},
                           .down = {},
                           .output_norm = {}};
    if (!n.context.empty()) layer.context = linear(n.context, e, 2 * e);
    if (n.up.empty()) return layer;
    layer.up = linear(n.up, e, wide_size(config_));
    layer.down = linear(n.down, config_.intermediate_size, e);
    layer.output_norm = norm(n.output_norm);
    return layer;
  }

 private:
  void forget(const std::string& name) const {
    if (tensors_.forget) tensors_.forget(name);
  }

  Tensor vector(const std::string& name, std::int64_t size) const {
    const ConstTensorView stored = view(name, {size});
    return only_compares() ? Tensor() : copy_of(stored, DType::f32);
  }

  // The next piece of the memory for packed matrices.
  TensorView place(std::int64_t in, std::int64_t out) const {
    const std::int64_t begin = std::exchange(used_, used_ + packed_floats(in, out));
    return packed_->slice(0, begin, used_);
  }

  // (in, out), however the file stores it.
  ConstTensorView matrix(const std::string& name, std::int64_t in, std::int64_t out) const {
    if (names_.input_first) return view(name + ".weight", {in, out});
    return view(name + ".weight", {out, in}).transposed(0, 1);
  }

  // Packing takes f32 and the 16-bit types; f64 is rounded first.
  ConstTensorView packable(ConstTensorView w) const {
    if (w.dtype() != DType::f64) return w;
    rounded_ = copy_of(w, DType::f32);
    return rounded_;
  }

  const ModelConfig& config_;
  const TensorSource& tensors_;
  Names names_;
  std::optional<TensorView> packed_;
  mutable std::int64_t used_ = 0;
  mutable Tensor rounded_;
};

namespace {

std::int64_t packed_size(const ModelConfig& config, const Names& names) {
  const std::int64_t e = config.hidden_size;
  const auto size = packed_floats;
  std::int64_t sum = 0;
  for (std::int64_t index = 0; index < config.layers; ++index) {
    const LayerNames layer = names.layer(index);
    sum += layer.context.empty() ? size(e, 3 * e) : size(e, e) + size(e, 2 * e);
    sum += size(e, e);
    if (!layer.up.empty()) sum += size(e, wide_size(config)) + size(config.intermediate_size, e);
  }
  return sum;
}

}  // namespace

Encoder::Weights::Weights(const ModelConfig& config, const TensorSource& tensors) : source(tensors) {
  const Loader compare(config, tensors);
  read(config, compare);
  packed = Tensor(DType::f32, {packed_size(config, compare.names())});
  read(config, Loader(config, tensors, packed));
}

void Encoder::Weights::read(const ModelConfig& config, const Loader& load) {
  const Names& names = load.names();
  words = load.view(names.embeddings.words, {config.vocabulary_size, config.hidden_size});
  if (!names.embeddings.positions.empty())
    positions = load.view(names.embeddings.positions, {config.positions, config.hidden_size});
  if (config.token_types > 0 && !names.embeddings.types.empty())
    types = load.view(names.embeddings.types, {config.token_types, config.hidden_size});
  if (!names.embeddings.norm.empty()) embedding_norm = load.norm(names.embeddings.norm);
  if (!names.embeddings.source_norm.empty()) source_embedding_norm = load.norm(names.embeddings.source_norm);
  layers.clear();
  for (std::int64_t index = 0; index < config.layers; ++index) layers.push_back(load.layer(index));
  if (!names.final_norm.empty()) final_norm = load.norm(names.final_norm);
  if (!names.encoder_norm.empty()) encoder_norm = load.norm(names.encoder_norm);
  if (!names.relative_bias.empty()) {
    const ConstTensorView stored = load.view(names.relative_bias, {config.relative_buckets, config.heads});
    if (!load.only_compares()) relative_bias = copy_of(stored, DType::f32);
  }
}

const NormLayer* Encoder::Weights::norm_behind(const ModelConfig& config, std::int64_t index) const noexcept {
  if (!config.norm_first) return nullptr;
  if (index + 1 == config.layers) return &final_norm;
  return index + 1 == config.encoder_layers ? &encoder_norm : nullptr;
}

const std::vector<TransposedLayer>& Encoder::Weights::transposed() const {
  std::call_once(transposed_once_, [this] {
    const Interruptible uninterrupted({});  // not every system's call_once lets an exception out
    std::vector<TransposedLayer> made;
    for (const TransformerLayer& layer : layers) {
      made.push_back({.qkv = layer.qkv.matrix.transposed(),
                      .out = layer.out.matrix.transposed(),
                      .up = layer.up.matrix.transposed(),
                      .down = layer.down.matrix.transposed(),
                      .context = layer.context.matrix.transposed()});
    }
    transposed_ = std::move(made);
  });
  return transposed_;
}

}  // namespace attend
