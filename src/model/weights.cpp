#include "model/weights.h"

#include <attend/file_error.h>
#include <attend/interrupt.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "model/families/family.h"
#include "model/families/gguf_form.h"
#include "model/tensor_source.h"
#include "nn/packed_blocks.h"

namespace attend::model {
namespace {

// A file of blocks is multiplied in them, and what it has as numbers becomes blocks too.
bool keeps_blocks(const TensorSource& tensors, Precision precision) {
  return precision == Precision::int8 && tensors.blocks && has_gguf_names(tensors);
}

ConstTensorView given_if_any(const Tensor& tensor) {
  return tensor.count() > 0 ? tensor.view() : ConstTensorView();
}

}  // namespace

LinearWeights StoredLinear::view(const PackedMatrix* transposed) const {
  return {Operand(matrix, transposed), given_if_any(bias)};
}

NormWeights StoredNorm::view() const { return {given_if_any(gamma), given_if_any(beta)}; }

NormTensorNames norm_tensors(const TensorSource& tensors, const std::string& name) {
  // attend's own files say gamma and beta, as do checkpoints made by old converters.
  const bool old = !tensors.contains(name + ".weight") && tensors.contains(name + ".gamma");
  return {name + (old ? ".gamma" : ".weight"), name + (old ? ".beta" : ".bias")};
}

TensorNames names_in(const ModelDescription& description, const TensorSource& tensors) {
  if (has_gguf_names(tensors)) return gguf_names(description, tensors);
  TensorNames names = family_of(description).names(description);
  for (const std::string& prefix : names.prefixes) {
    const bool usual = tensors.contains(prefix + names.words);
    if (!usual && (names.words_also.empty() || !tensors.contains(prefix + names.words_also))) continue;
    if (!usual) names.words = names.words_also;
    const auto add_prefix = [&](std::string& name) {
      if (!name.empty()) name.insert(0, prefix);
    };
    for (std::string* const name :
         {&names.words, &names.positions, &names.types, &names.embedding_norm, &names.source_embedding_norm,
          &names.embedding_projection, &names.final_norm, &names.source_final_norm, &names.relative_bias,
          &names.source_relative_bias})
      add_prefix(*name);
    for (LayerNames& layer : names.layers) {
      for (std::vector<std::string>* const list : {&layer.projected, &layer.context, &layer.up}) {
        for (std::string& name : *list) add_prefix(name);
      }
      for (std::string* const name :
           {&layer.query_norm, &layer.key_norm, &layer.sinks, &layer.out, &layer.attention_norm,
            &layer.attention_out_norm, &layer.down, &layer.feed_forward_norm, &layer.feed_forward_out_norm})
        add_prefix(*name);
    }
    return names;
  }
  throw FileError(
      tensors.file, names.words,
      joined("there is no such tensor, and a model of the family ", description.family, " needs it"));
}

// Without memory for packed matrices, it only compares every tensor with the description.
class ModelWeights::Loader {
 public:
  Loader(const ModelDescription& description, const TensorSource& tensors, Precision precision,
         std::optional<TensorView> packed = {})
      : hidden_(description.hidden_size),
        tensors_(tensors),
        names_(names_in(description, tensors)),
        keeps_blocks_(keeps_blocks(tensors, precision)),
        as_(keeps_blocks_ ? PackedAs::blocks : packed_as(precision)),
        packed_(packed) {}

  bool only_compares() const { return !packed_; }
  std::int64_t packed_size() const { return used_; }  // in floats, after everything was read
  const TensorNames& names() const { return names_; }

  // A tensor in place, not copied.
  ConstTensorView view(const std::string& name, const Dims& shape) const {
    return only_compares() ? required_form(tensors_, name, shape) : required_tensor(tensors_, name, shape);
  }

  WordTable words(const std::string& name, const Dims& shape) const {
    if (keeps_blocks_) {
      if (const auto blocks = stored_blocks(tensors_, name, shape)) return WordTable(*blocks);
    }
    return view(name, shape);
  }

  StoredNorm norm(const std::string& name, const NormDescription& described) const {
    return norm(name, described, hidden_);
  }
  StoredNorm norm(const std::string& name, const NormDescription& described, std::int64_t size) const {
    if (name.empty()) return {};
    const NormTensorNames parts = norm_tensors(tensors_, name);
    StoredNorm norm{.gamma = vector(parts.gamma, size), .beta = {}};
    if (described.plus_one) {
      for (float& weight : norm.gamma.values<float>()) weight += 1;
    }
    if (described.kind == NormKind::layer && described.bias) norm.beta = vector(parts.beta, size);
    return norm;
  }

  // (buckets, heads), of the first layer of these kinds that has distances.
  Tensor distances(const ModelDescription& description, const std::string& name, bool of_source) const {
    if (name.empty()) return {};
    for (const LayerDescription& layer : description.layers) {
      const AttentionDescription& attention = layer.attention;
      if (attention.positions != PositionKind::relative || (layer.kind == LayerKind::encoder) != of_source)
        continue;
      const ConstTensorView stored = view(name, {attention.relative_buckets.buckets, attention.heads});
      return only_compares() ? Tensor() : copy_of(stored, DType::f32);
    }
    return {};
  }

  StoredLinear linear(const std::string& name, std::int64_t in, std::int64_t out, bool bias) const {
    if (const std::vector<BlockView> parts = stored_parts({name}, in, {out}); !parts.empty())
      return in_blocks({name}, parts, bias);
    const TensorView place = next_place(in, out);
    const ConstTensorView stored = matrix(name, in, out);
    StoredLinear layer{.matrix = {}, .bias = bias ? vector(name + ".bias", out) : Tensor()};
    if (only_compares()) return layer;
    layer.matrix = PackedMatrix(packable(stored), place, as_);
    forget(name + ".weight");
    return layer;
  }

  // Several matrices with the same input, packed side by side, each with its number of columns; or one tensor
  // that holds them all.
  StoredLinear side_by_side(const std::vector<std::string>& names, std::int64_t in,
                            const std::vector<std::int64_t>& columns, bool bias) const {
    const std::int64_t out = std::accumulate(columns.begin(), columns.end(), std::int64_t{0});
    if (names.size() == 1) return linear(names[0], in, out, bias);
    if (const std::vector<BlockView> parts = stored_parts(names, in, columns); !parts.empty())
      return in_blocks(names, parts, bias);
    const TensorView place = next_place(in, out);
    if (only_compares()) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        matrix(names[i], in, columns[i]);
        if (bias) view(names[i] + ".bias", {columns[i]});
      }
      return {};
    }
    // Most files store them as (out, in).
    Tensor stack(DType::f32, {out, in}), biases(DType::f32, {bias ? out : 0});
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::int64_t end = begin + columns[i];
      copy(matrix(names[i], in, columns[i]).transposed(0, 1), stack.view().slice(0, begin, end));
      if (bias) copy(view(names[i] + ".bias", {columns[i]}), biases.view().slice(0, begin, end));
      forget(names[i] + ".weight");
      begin = end;
    }
    return {.matrix = PackedMatrix(stack.view().transposed(0, 1), place, as_), .bias = std::move(biases)};
  }

  // One tensor whose rows are (heads, 3, size), put in the order (3, heads, size).
  StoredLinear by_head(const std::string& name, const AttentionDescription& attention) const {
    const std::int64_t heads = attention.heads, size = attention.head_size, out = 3 * heads * size;
    if (keeps_blocks_ && stored_blocks(tensors_, name + ".weight", {out, hidden_}))
      return by_head_in_blocks(name, attention);
    const TensorView place = next_place(hidden_, out);
    const ConstTensorView weight = view(name + ".weight", {out, hidden_});
    const ConstTensorView bias = attention.bias ? view(name + ".bias", {out}) : ConstTensorView();
    if (only_compares()) return {};
    Tensor stack(DType::f32, {out, hidden_}), biases(DType::f32, {attention.bias ? out : 0});
    copy_by_head(weight, attention, stack);
    if (attention.bias) copy_by_head(bias, attention, biases);
    forget(name + ".weight");
    return {.matrix = PackedMatrix(stack.view().transposed(0, 1), place, as_), .bias = std::move(biases)};
  }

  StoredLayer layer(const LayerDescription& description, const LayerNames& n) const {
    const AttentionDescription& attention = description.attention;
    const std::int64_t q = query_columns(attention), k = key_columns(attention);
    const NormDescription& described = description.norm;
    StoredLayer layer;
    if (description.kind == LayerKind::cross) {
      layer.projected = side_by_side(n.projected, hidden_, {q}, attention.bias);
      layer.context = side_by_side(n.context, hidden_, {k, k}, attention.bias);
    } else {
      layer.projected = names_.projected_by_head
                            ? by_head(n.projected.front(), attention)
                            : side_by_side(n.projected, hidden_, {q, k, k}, attention.bias);
    }
    if (attention.query_key_norm != QueryKeyNorm::none) {
      const bool heads = attention.query_key_norm == QueryKeyNorm::heads;
      layer.query_norm = norm(n.query_norm, described, heads ? attention.head_size : q);
      layer.key_norm = norm(n.key_norm, described, heads ? attention.head_size : k);
    }
    if (attention.sinks) layer.sinks = numbers(n.sinks, attention.heads);
    layer.out = linear(n.out, q, hidden_, attention.output_bias);
    if (description.attention_norm) layer.attention_norm = norm(n.attention_norm, described);
    layer.attention_out_norm = norm(n.attention_out_norm, described);
    if (!description.feed_forward) return layer;
    const FeedForwardDescription& part = *description.feed_forward;
    layer.up = side_by_side(
        n.up, hidden_, part.gated ? std::vector{part.size, part.size} : std::vector{part.size}, part.bias);
    layer.down = linear(n.down, part.size, hidden_, part.bias);
    layer.feed_forward_norm = norm(n.feed_forward_norm, described);
    layer.feed_forward_out_norm = norm(n.feed_forward_out_norm, described);
    return layer;
  }

 private:
  void forget(const std::string& name) const {
    if (tensors_.forget) tensors_.forget(name);
  }

  // Rows (heads, 3, size) into the order (3, heads, size).
  static void copy_by_head(ConstTensorView from, const AttentionDescription& attention, Tensor& to) {
    const std::int64_t heads = attention.heads, size = attention.head_size;
    copy(from.split(0, heads, 3 * size).split(1, 3, size).transposed(0, 1),
         to.view().split(0, 3, heads * size).split(1, heads, size));
  }

  // These matrices as parts of one that stays in blocks. A part that is stored as numbers will become Q8_0,
  // and has no data here. No parts where none is stored in blocks, or where they do not fit side by side.
  std::vector<BlockView> stored_parts(const std::vector<std::string>& names, std::int64_t in,
                                      const std::vector<std::int64_t>& columns) const {
    if (!keeps_blocks_ || names_.input_first) return {};
    constexpr std::int64_t kSideBySide = 16;  // rows of a part that is not the last
    std::vector<BlockView> parts;
    bool any = false, fit = true;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = stored_blocks(tensors_, names[i] + ".weight", {columns[i], in});
      parts.push_back(found ? found->view : BlockView{BlockType::q8_0, columns[i], in, nullptr});
      any = any || found;
      fit = fit && (i + 1 == names.size() || columns[i] % kSideBySide == 0);
    }
    if (!any || !fit) parts.clear();
    return parts;
  }

  StoredLinear in_blocks(const std::vector<std::string>& names, std::vector<BlockView> parts,
                         bool bias) const {
    const TensorView place = next_place(PackedMatrix::bytes_needed(parts));
    std::int64_t out = 0;
    for (const BlockView& part : parts) out += part.rows;
    std::vector<detail::EncodedRows> encoded;
    Tensor biases(DType::f32, {bias && !only_compares() ? out : 0});
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::int64_t rows = parts[i].rows;
      const ConstTensorView own = bias ? view(names[i] + ".bias", {rows}) : ConstTensorView();
      if (only_compares()) continue;
      if (!parts[i].given()) {
        encoded.push_back(detail::encoded_rows(view(names[i] + ".weight", {rows, parts[i].columns})));
        parts[i] = encoded.back().view;
      }
      if (bias) copy(own, biases.view().slice(0, begin, begin + rows));
      begin += rows;
    }
    if (only_compares()) return {};
    StoredLinear layer{.matrix = PackedMatrix(parts, place), .bias = std::move(biases)};
    for (const std::string& name : names) forget(name + ".weight");
    return layer;
  }

  StoredLinear by_head_in_blocks(const std::string& name, const AttentionDescription& attention) const {
    const std::int64_t heads = attention.heads, size = attention.head_size, out = 3 * heads * size;
    BlockView stored = stored_blocks(tensors_, name + ".weight", {out, hidden_})->view;
    const TensorView place = next_place(PackedMatrix::bytes_needed({&stored, 1}));
    const ConstTensorView bias = attention.bias ? view(name + ".bias", {out}) : ConstTensorView();
    if (only_compares()) return {};
    const auto row_bytes = static_cast<std::size_t>(stored.row_bytes());
    std::vector<std::byte> ordered(static_cast<std::size_t>(out) * row_bytes);
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t which = 0; which < 3; ++which) {
        std::memcpy(ordered.data() + static_cast<std::size_t>((which * heads + head) * size) * row_bytes,
                    stored.row((head * 3 + which) * size), static_cast<std::size_t>(size) * row_bytes);
      }
    }
    stored.data = ordered.data();
    Tensor biases(DType::f32, {attention.bias ? out : 0});
    if (attention.bias) copy_by_head(bias, attention, biases);
    StoredLinear layer{.matrix = PackedMatrix({&stored, 1}, place), .bias = std::move(biases)};
    forget(name + ".weight");
    return layer;
  }

  Tensor vector(const std::string& name, std::int64_t size) const {
    const ConstTensorView stored = view(name, {size});
    return only_compares() ? Tensor() : copy_of(stored, DType::f32);
  }

  std::vector<double> numbers(const std::string& name, std::int64_t size) const {
    const Tensor exact = copy_of(view(name, {size}), DType::f64);
    return {exact.values<double>().begin(), exact.values<double>().end()};
  }

  // The next piece of the memory for packed matrices; not given when tensors are only compared.
  TensorView next_place(std::int64_t in, std::int64_t out) const {
    return next_place(PackedMatrix::bytes_needed(in, out, {}, as_));
  }
  TensorView next_place(std::int64_t bytes) const {
    const std::int64_t begin = std::exchange(used_, used_ + bytes / static_cast<std::int64_t>(sizeof(float)));
    return only_compares() ? TensorView() : packed_->slice(0, begin, used_);
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

  std::int64_t hidden_;
  const TensorSource& tensors_;
  TensorNames names_;
  bool keeps_blocks_;
  PackedAs as_;
  std::optional<TensorView> packed_;
  mutable std::int64_t used_ = 0;
  mutable Tensor rounded_;
};

ModelWeights::ModelWeights(const ModelDescription& description, const TensorSource& tensors,
                           Precision precision)
    : source(tensors), precision_(precision) {
  const Loader compare(description, tensors, precision);
  read(description, compare);
  packed_ = Tensor(DType::f32, {compare.packed_size()});
  read(description, Loader(description, tensors, precision, packed_));
  for (const std::size_t owner : owners_) {
    const StoredLayer& layer = layers_[owner];
    views_.push_back({.projected = layer.projected.view(),
                      .context = layer.context.view(),
                      .out = layer.out.view(),
                      .up = layer.up.view(),
                      .down = layer.down.view(),
                      .query_norm = layer.query_norm.view(),
                      .key_norm = layer.key_norm.view(),
                      .attention_norm = layer.attention_norm.view(),
                      .feed_forward_norm = layer.feed_forward_norm.view(),
                      .attention_out_norm = layer.attention_out_norm.view(),
                      .feed_forward_out_norm = layer.feed_forward_out_norm.view()});
  }
}

void ModelWeights::read(const ModelDescription& description, const Loader& load) {
  const TensorNames& names = load.names();
  const std::int64_t e = description.table_size();
  words = load.words(names.words, {description.vocabulary_size, e});
  if (description.positions == PositionKind::learned)
    positions = load.view(names.positions, {description.position_count, e});
  if (description.token_types > 0 && !names.types.empty())
    types = load.view(names.types, {description.token_types, e});
  if (description.embedding_norm) {
    embedding_norm = load.norm(names.embedding_norm, *description.embedding_norm, e);
    source_embedding_norm = load.norm(names.source_embedding_norm, *description.embedding_norm, e);
  }
  if (description.embedding_size)
    embedding_projection = load.linear(names.embedding_projection, e, description.hidden_size, true);
  layers_.clear();
  owners_.clear();
  for (std::size_t index = 0; index < description.layers.size(); ++index) {
    const LayerDescription& layer = description.layers[index];
    owners_.push_back(layer.weights_of ? owners_[static_cast<std::size_t>(*layer.weights_of) - 1]
                                       : layers_.size());
    if (!layer.weights_of) layers_.push_back(load.layer(layer, names.layers[index]));
  }
  if (description.final_norm) {
    final_norm = load.norm(names.final_norm, *description.final_norm);
    source_final_norm = load.norm(names.source_final_norm, *description.final_norm);
  }
  relative_bias = load.distances(description, names.relative_bias, false);
  source_relative_bias = load.distances(description, names.source_relative_bias, true);
}

const StoredNorm* ModelWeights::norm_after(const ModelDescription& description,
                                           std::int64_t index) const noexcept {
  if (!description.final_norm) return nullptr;
  if (index + 1 == description.layer_count()) return &final_norm;
  return index + 1 == description.encoder_layers ? &source_final_norm : nullptr;
}

const LayerWeights& ModelWeights::layer_for_backward(std::int64_t index) const {
  std::call_once(transposed_once_, [this] {
    const Interruptible uninterrupted({});  // not every system's call_once lets an exception out
    for (const StoredLayer& layer : layers_) {
      transposed_.push_back({.projected = layer.projected.matrix.transposed(),
                             .context = layer.context.matrix.transposed(),
                             .out = layer.out.matrix.transposed(),
                             .up = layer.up.matrix.transposed(),
                             .down = layer.down.matrix.transposed()});
    }
    backward_views_ = views_;
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      const StoredLayer& layer = layers_[owners_[i]];
      const TransposedLayer& transposed = transposed_[owners_[i]];
      LayerWeights& view = backward_views_[i];
      view.projected = layer.projected.view(&transposed.projected);
      view.context = layer.context.view(&transposed.context);
      view.out = layer.out.view(&transposed.out);
      view.up = layer.up.view(&transposed.up);
      view.down = layer.down.view(&transposed.down);
    }
  });
  return backward_views_[static_cast<std::size_t>(index)];
}

}  // namespace attend::model
