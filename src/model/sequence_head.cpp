// In float32, as the layers in front of it: it is a thousandth of the work of a pass.
#include <attend/sequence_head.h>

#include <attend/file_error.h>
#include <attend/layer_norm.h>
#include <attend/matmul.h>
#include <attend/pooling.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "io/fail.h"
#include "model/tensor_source.h"
#include "model/weights.h"

namespace attend {

using namespace model;

struct SequenceHead::Parts {
  SequenceHeadDescription description;
  ScoreFunction cross_encoder_function = ScoreFunction::identity;
  StoredLinear dense{}, score{};
  SequenceActivation activation{};
  StoredNorm norm{};
  double epsilon = 0;
};

namespace {

constexpr const char* kPredictOperation = "predict";

// activation_fn is the path of a class of PyTorch. As in sentence-transformers, one from elsewhere, which
// would have to be run, counts as if nothing was said.
ScoreFunction cross_encoder_function_of(const SequenceHeadDescription& description) {
  constexpr std::array kPaths = {
      std::pair("torch.nn.modules.linear.Identity", ScoreFunction::identity),
      std::pair("torch.nn.modules.activation.Sigmoid", ScoreFunction::sigmoid),
      std::pair("torch.nn.modules.activation.Softmax", ScoreFunction::softmax),
      std::pair("torch.nn.Identity", ScoreFunction::identity),
      std::pair("torch.nn.Sigmoid", ScoreFunction::sigmoid),
      std::pair("torch.nn.Softmax", ScoreFunction::softmax),
  };
  for (const auto& [path, function] : kPaths) {
    if (description.activation == path) return function;
  }
  if (description.activation.starts_with("torch.")) {
    throw FileError("config.json", "activation_fn",
                    joined('"', io::shown(description.activation),
                           "\" is not one that attend supports: Identity, Sigmoid, Softmax"));
  }
  return description.labels.size() == 1 ? ScoreFunction::sigmoid : ScoreFunction::identity;
}

StoredLinear read_linear(const TensorSource& tensors, const std::string& name, std::int64_t in,
                         std::int64_t out, bool bias) {
  // Packing takes f32 and the 16-bit types; f64 is rounded first.
  const Tensor weight = copy_of(required_tensor(tensors, name + ".weight", {out, in}), DType::f32);
  StoredLinear layer{.matrix = PackedMatrix(weight.view().transposed(0, 1)), .bias = {}};
  if (bias) layer.bias = copy_of(required_tensor(tensors, name + ".bias", {out}), DType::f32);
  return layer;
}

// The prefix that this file has, of those that the family may have.
std::string prefix_of(const TensorNames& names) {
  std::string longest;
  for (const std::string& prefix : names.prefixes) {
    if (names.words.starts_with(prefix) && prefix.size() > longest.size()) longest = prefix;
  }
  return longest;
}

Tensor product(ConstTensorView x, const StoredLinear& layer, Activation activation = Activation::none) {
  Tensor out(DType::f32, {x.size(0), layer.matrix.columns()});
  matmul(x, layer.matrix, out, {.bias = layer.view().bias, .activation = activation});
  return out;
}

// The place of the vector that counts as the text's last.
std::int64_t last_place(const TokenBatch& batch, std::size_t text, std::optional<std::int64_t> padding) {
  const std::int64_t begin = batch.ends[text];
  std::int64_t last = batch.ends[text + 1] - 1;
  if (!padding) return last;
  // A text of nothing but padding has its first token scored, as in transformers.
  while (last > begin && batch.ids[static_cast<std::size_t>(last)] == *padding) --last;
  return last;
}

// The vectors that are scored, (texts, E).
Tensor scored_vectors(const SequenceHeadDescription& head, ConstTensorView hidden, const TokenBatch& batch) {
  Tensor vectors(DType::f32, {batch.texts(), hidden.size(1)});
  if (head.pooling != Pooling::last_token) {
    pool(hidden, batch.ends, std::array{head.pooling}, vectors);
    return vectors;
  }
  for (std::int64_t text = 0; text < batch.texts(); ++text) {
    const std::int64_t place = last_place(batch, static_cast<std::size_t>(text), head.padding);
    copy(hidden.slice(0, place, place + 1), vectors.view().slice(0, text, text + 1));
  }
  return vectors;
}

void softmax_row(std::span<float> row) {
  const float largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float value : row) sum += std::exp(static_cast<double>(value) - static_cast<double>(largest));
  for (float& value : row)
    value = static_cast<float>(std::exp(static_cast<double>(value) - static_cast<double>(largest)) / sum);
}

}  // namespace

std::optional<SequenceHead> SequenceHead::find(const ModelDescription& description,
                                               const TensorSource& tensors) {
  if (!description.sequence_head) return std::nullopt;
  const TensorNames all = names_in(description, tensors);
  const SequenceNames& names = all.sequence;
  if (names.score.empty()) {
    throw FileError(
        "config.json", "architectures",
        joined("the scores of such a model of the family ", description.family, " are not supported"));
  }
  const std::int64_t e = description.hidden_size;
  const NormDescription& norm = description.layers.back().norm;
  Parts parts{.description = *description.sequence_head};
  parts.cross_encoder_function = cross_encoder_function_of(parts.description);
  if (!names.dense.empty()) {
    const std::string dense = (names.pooler ? prefix_of(all) : "") + names.dense;
    parts.dense = read_linear(tensors, dense, e, e, names.dense_bias || tensors.contains(dense + ".bias"));
    parts.activation = names.activation;
  }
  if (!names.norm.empty()) {
    const NormTensorNames stored = norm_tensors(tensors, names.norm);
    parts.norm.gamma = copy_of(required_tensor(tensors, stored.gamma, {e}), DType::f32);
    if (norm.bias) parts.norm.beta = copy_of(required_tensor(tensors, stored.beta, {e}), DType::f32);
    parts.epsilon = norm.epsilon;
  }
  parts.score = read_linear(tensors, names.score, e,
                            static_cast<std::int64_t>(parts.description.labels.size()), names.score_bias);
  return SequenceHead(std::make_shared<const Parts>(std::move(parts)));
}

const std::vector<std::string>& SequenceHead::labels() const noexcept { return parts_->description.labels; }
std::int64_t SequenceHead::count() const noexcept { return parts_->score.matrix.columns(); }
ScoreFunction SequenceHead::classifier_function() const noexcept {
  return parts_->description.classifier_function;
}
ScoreFunction SequenceHead::cross_encoder_function() const noexcept { return parts_->cross_encoder_function; }

Tensor SequenceHead::logits(ConstTensorView hidden, const TokenBatch& batch) const {
  for (std::size_t text = 0; text + 1 < batch.ends.size(); ++text) {
    if (batch.ends[text] == batch.ends[text + 1])
      refuse(kPredictOperation, "text ", text + 1, " of the batch has no tokens");
  }
  Tensor x = scored_vectors(parts_->description, hidden, batch);
  if (parts_->dense.matrix.rows() > 0) {
    const SequenceActivation activation = parts_->activation;
    x = product(x, parts_->dense,
                activation == SequenceActivation::gelu   ? Activation::gelu
                : activation == SequenceActivation::relu ? Activation::relu
                                                         : Activation::none);
    if (activation == SequenceActivation::tanh) {
      for (float& value : x.values<float>()) value = std::tanh(value);
    }
  }
  const NormWeights norm = parts_->norm.view();
  if (norm.gamma.given()) layer_norm(x, norm.gamma, norm.beta, parts_->epsilon, x);
  return product(x, parts_->score);
}

void apply(ScoreFunction function, Tensor& logits) {
  const std::span<float> values = logits.values<float>();
  if (function == ScoreFunction::sigmoid) {
    for (float& value : values) value = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(value))));
  }
  if (function != ScoreFunction::softmax || values.empty()) return;
  const auto labels = static_cast<std::size_t>(logits.size(1));
  for (std::size_t row = 0; row < values.size(); row += labels) softmax_row(values.subspan(row, labels));
}

}  // namespace attend
