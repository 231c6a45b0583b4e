// In float64 throughout: one place of a text is looked at, and the answer is compared with others.
#include <attend/token_head.h>

#include <attend/gelu.h>
#include <attend/layer_norm.h>
#include <attend/matmul.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/tensor_source.h"
#include "model/weights.h"

namespace attend {

using namespace model;

namespace {

std::string first_of(const TensorSource& tensors, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (tensors.contains(name)) return name;
  }
  return {};
}

Tensor row_of(std::span<const double> values) {
  return Tensor::from<double>({1, static_cast<std::int64_t>(values.size())},
                              std::vector<double>(values.begin(), values.end()));
}

std::vector<double> values_of(const Tensor& tensor) {
  return {tensor.values<double>().begin(), tensor.values<double>().end()};
}

Tensor product(const Tensor& a, ConstTensorView w) {
  Tensor out(DType::f64, {a.size(0), w.size(1)});
  const Tensor right = copy_of(w, DType::f64);
  matmul(a, right.view(), out);
  return out;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void activate_head(Activation activation, Tensor& x) {
  if (activation == Activation::silu) {
    for (double& value : x.values<double>()) value *= sigmoid(value);
  }
  if (activation == Activation::gelu) gelu(x, x);
  if (activation == Activation::gelu_tanh) gelu_tanh(x, x);
  if (activation == Activation::relu) {
    for (double& value : x.values<double>()) value = value < 0 ? 0 : value;
  }
}

void activate_head_backward(Activation activation, const Tensor& x, Tensor& d) {
  if (activation == Activation::silu) {
    for (std::size_t i = 0; i < d.values<double>().size(); ++i) {
      const double value = x.values<double>()[i], open = sigmoid(value);
      d.values<double>()[i] *= open * (1 + value * (1 - open));
    }
  }
  if (activation == Activation::gelu) gelu_backward(x, d, d);
  if (activation == Activation::gelu_tanh) gelu_tanh_backward(x, d, d);
  if (activation == Activation::relu) {
    for (std::size_t i = 0; i < d.values<double>().size(); ++i)
      d.values<double>()[i] *= x.values<double>()[i] > 0 ? 1 : 0;
  }
}

// dense(x), before the activation.
Tensor dense(ConstTensorView weight, ConstTensorView bias, const Tensor& x) {
  Tensor out = product(x, weight.transposed(0, 1));
  if (!bias.given()) return out;
  const Tensor added = copy_of(bias, DType::f64);
  for (std::size_t i = 0; i < out.values<double>().size(); ++i)
    out.values<double>()[i] += added.values<double>()[i];
  return out;
}

}  // namespace

std::optional<TokenHead> TokenHead::find(const ModelDescription& description, const TensorSource& tensors) {
  const TensorNames all = names_in(description, tensors);
  const OutputNames& names = all.output;
  if (names.none || (!names.dense.empty() && !tensors.contains(names.dense + ".weight"))) return std::nullopt;
  const std::int64_t e = description.hidden_size, vocabulary = description.vocabulary_size;
  const std::int64_t row = description.table_size();  // of the table of tokens
  TokenHead head;
  head.source_ = tensors;
  head.scale_ = description.output_scale;
  if (!names.dense.empty()) {
    const LayerDescription& layer = description.layers.back();
    const auto bias_if = [&](bool wanted, const std::string& name) {
      return wanted ? required_tensor(tensors, name + ".bias", {row}) : ConstTensorView();
    };
    head.transform_ =
        Transform{.weight = required_tensor(tensors, names.dense + ".weight", {row, e}),
                  .bias = bias_if(names.dense_bias || tensors.contains(names.dense + ".bias"), names.dense),
                  .activation = names.own_activation ? layer.feed_forward->activation : Activation::gelu,
                  .gamma = required_tensor(tensors, names.norm + ".weight", {row}),
                  .beta = bias_if(layer.norm.bias, names.norm),
                  .epsilon = layer.norm.epsilon};
  }
  const std::string table = first_of(tensors, names.tables);
  if (names.table_input_first) {
    head.table_ = required_tensor(tensors, names.tables.front(), {row, vocabulary}).transposed(0, 1);
  } else {
    head.table_ = required_tensor(tensors, table.empty() ? all.words : table, {vocabulary, row});
  }
  if (const std::string bias = first_of(tensors, names.biases); !bias.empty())
    head.bias_ = required_tensor(tensors, bias, {vocabulary});
  return head;
}

PackedMatrix TokenHead::packed() const {
  if (transform_ || bias_.given())
    refuse("generate", "the model has an output layer for masked places, and none that writes");
  if (table_.dtype() != DType::f64) return PackedMatrix(table_.transposed(0, 1));
  const Tensor rounded = copy_of(table_, DType::f32);
  return PackedMatrix(rounded.view().transposed(0, 1));
}

std::vector<double> TokenHead::logits(std::span<const double> hidden) const {
  Tensor x = row_of(hidden);
  for (double& value : x.values<double>()) value *= scale_;
  if (transform_) {
    x = dense(transform_->weight, transform_->bias, x);
    activate_head(transform_->activation, x);
    layer_norm(x, transform_->gamma, transform_->beta, transform_->epsilon, x);
  }
  std::vector<double> logits;
  const std::int64_t rows = table_.size(0);
  constexpr std::int64_t kRows = 1024;  // of the table that are in f64 at a time
  for (std::int64_t first = 0; first < rows; first += kRows) {
    const ConstTensorView part = table_.slice(0, first, std::min(rows, first + kRows));
    const std::vector<double> some = values_of(product(x, part.transposed(0, 1)));
    logits.insert(logits.end(), some.begin(), some.end());
  }
  if (bias_.given()) {
    const Tensor bias = copy_of(bias_, DType::f64);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] += bias.values<double>()[i];
  }
  return logits;
}

std::vector<double> TokenHead::gradient(std::span<const double> hidden, std::int32_t token) const {
  if (token < 0 || token >= table_.size(0))
    refuse("lens", "token is ", token, ", and the vocabulary has 0 to ", table_.size(0) - 1);
  Tensor d = copy_of(table_.slice(0, token, token + 1), DType::f64);
  for (double& value : d.values<double>()) value *= scale_;
  if (!transform_) return values_of(d);
  const Tensor before = dense(transform_->weight, transform_->bias, row_of(hidden));
  Tensor after = copy_of(before);
  activate_head(transform_->activation, after);
  layer_norm_backward(after, transform_->gamma, transform_->epsilon, d, {.x = d});
  activate_head_backward(transform_->activation, before, d);
  return values_of(product(d, transform_->weight));
}

}  // namespace attend
