#include "model/weights.h"

#include <attend/file_error.h>

namespace attend {
namespace {

class Loader {
 public:
  Loader(const EncoderShape& shape, const TensorSource& tensors)
      : shape_(shape), tensors_(tensors), names_(names_of(shape.family, tensors)) {}

  const Names& names() const { return names_; }

  // A tensor where it lies.
  ConstTensorView view(const std::string& name, const Dims& shape) const {
    if (!tensors_.contains(name)) throw FileError(tensors_.file, name, "there is no such tensor");
    const ConstTensorView tensor = tensors_.tensor(name);
    if (tensor.shape() != shape) {
      throw FileError(
          tensors_.file, name,
          "its shape is " + to_string(tensor.shape()) + ", the configuration says " + to_string(shape));
    }
    if (!is_float(tensor.dtype())) {
      throw FileError(tensors_.file, name,
                      "its type is " + std::string(name_of(tensor.dtype())) + ", expected a floating one");
    }
    return tensor;
  }

  NormLayer norm(const std::string& name) const {
    // Checkpoints made by old converters say gamma and beta.
    const bool old = !tensors_.contains(name + ".weight") && tensors_.contains(name + ".gamma");
    return {vector(name + (old ? ".gamma" : ".weight"), shape_.hidden),
            vector(name + (old ? ".beta" : ".bias"), shape_.hidden)};
  }

  LinearLayer linear(const std::string& name, std::int64_t in, std::int64_t out) const {
    LinearLayer layer;
    layer.matrix = PackedMatrix(packable(matrix(name, in, out)));
    layer.bias = vector(name + ".bias", out);
    return layer;
  }

  // Several of the same input, side by side.
  LinearLayer joined(const std::vector<std::string>& names, std::int64_t in, std::int64_t out) const {
    if (names.size() == 1) return linear(names[0], in, out);
    const std::int64_t part = out / static_cast<std::int64_t>(names.size());
    Tensor together(DType::f32, {in, out});
    LinearLayer layer{.matrix = {}, .bias = Tensor(DType::f32, {out})};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::int64_t begin = static_cast<std::int64_t>(i) * part;
      copy(matrix(names[i], in, part), together.view().slice(1, begin, begin + part));
      copy(view(names[i] + ".bias", {part}), layer.bias.view().slice(0, begin, begin + part));
    }
    layer.matrix = PackedMatrix(together);
    return layer;
  }

  TransformerLayer layer(std::int64_t index) const {
    const LayerNames n = names_.layer(index);
    const std::int64_t e = shape_.hidden;
    return {.qkv = joined(n.qkv, e, 3 * e),
            .out = linear(n.out, e, e),
            .attention_norm = norm(n.attention_norm),
            .up = linear(n.up, e, shape_.inner),
            .down = linear(n.down, shape_.inner, e),
            .output_norm = norm(n.output_norm)};
  }

 private:
  Tensor vector(const std::string& name, std::int64_t size) const {
    return copy_of(view(name, {size}), DType::f32);
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

  const EncoderShape& shape_;
  const TensorSource& tensors_;
  Names names_;
  mutable Tensor rounded_;
};

}  // namespace

Encoder::Weights::Weights(const EncoderShape& shape, const TensorSource& tensors) {
  const Loader load(shape, tensors);
  const Names& names = load.names();
  words = load.view(names.embeddings.words, {shape.vocabulary, shape.hidden});
  positions = load.view(names.embeddings.positions, {shape.positions, shape.hidden});
  if (shape.types > 0 && !names.embeddings.types.empty())
    types = load.view(names.embeddings.types, {shape.types, shape.hidden});
  if (!names.embeddings.norm.empty()) embedding_norm = load.norm(names.embeddings.norm);
  for (std::int64_t index = 0; index < shape.layers; ++index) layers.push_back(load.layer(index));
  if (!names.final_norm.empty()) final_norm = load.norm(names.final_norm);
  if (!names.relative_bias.empty()) {
    relative_bias =
        copy_of(load.view(names.relative_bias, {shape.relative_buckets, shape.heads}), DType::f32);
  }
}

}  // namespace attend
