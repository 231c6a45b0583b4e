// In float64 throughout: one place of a text is looked at, and the answer is compared with others.
#include <attend/token_head.h>

#include <attend/gelu.h>
#include <attend/layer_norm.h>
#include <attend/matmul.h>

#include <algorithm>

#include "base/error.h"
#include "model/names.h"
#include "model/tensor_source.h"

namespace attend {
namespace {

struct HeadNames {
  std::string dense, norm;                  // empty: neither
  std::vector<std::string> tables, biases;  // the first that is there
};

HeadNames head_names_of(ModelFamily family) {
  switch (family) {
    case ModelFamily::bert:
      return {"cls.predictions.transform.dense",
              "cls.predictions.transform.LayerNorm",
              {"cls.predictions.decoder.weight"},
              {"cls.predictions.bias", "cls.predictions.decoder.bias"}};
    case ModelFamily::roberta:
    case ModelFamily::mpnet:
      return {"lm_head.dense",
              "lm_head.layer_norm",
              {"lm_head.decoder.weight"},
              {"lm_head.bias", "lm_head.decoder.bias"}};
    case ModelFamily::distilbert:
      return {"vocab_transform", "vocab_layer_norm", {"vocab_projector.weight"}, {"vocab_projector.bias"}};
    case ModelFamily::gpt2:
      return {"", "", {"lm_head.weight"}, {}};
    case ModelFamily::attend:
      return {};
  }
  return {};
}

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

void activate(Activation activation, Tensor& x) {
  if (activation == Activation::gelu) gelu(x, x);
  if (activation == Activation::gelu_tanh) gelu_tanh(x, x);
  if (activation == Activation::relu) {
    for (double& value : x.values<double>()) value = value < 0 ? 0 : value;
  }
}

void activate_backward(Activation activation, const Tensor& x, Tensor& d) {
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
  const Tensor added = copy_of(bias, DType::f64);
  for (std::size_t i = 0; i < out.values<double>().size(); ++i)
    out.values<double>()[i] += added.values<double>()[i];
  return out;
}

}  // namespace

std::optional<TokenHead> TokenHead::find(const ModelConfig& config, const TensorSource& tensors) {
  const HeadNames names = head_names_of(config.family);
  if (!names.dense.empty() && !tensors.contains(names.dense + ".weight")) return std::nullopt;
  const std::int64_t e = config.hidden_size, vocabulary = config.vocabulary_size;
  TokenHead head;
  head.source_ = tensors;
  if (!names.dense.empty()) {
    head.transform_ =
        Transform{.weight = required_tensor(tensors, names.dense + ".weight", {e, e}),
                  .bias = required_tensor(tensors, names.dense + ".bias", {e}),
                  // RoBERTa's and MPNet's heads are written with GELU, whatever the layers have.
                  .activation = config.family == ModelFamily::bert || config.family == ModelFamily::distilbert
                                    ? config.activation
                                    : Activation::gelu,
                  .gamma = required_tensor(tensors, names.norm + ".weight", {e}),
                  .beta = required_tensor(tensors, names.norm + ".bias", {e}),
                  .epsilon = config.layer_norm_eps};
  }
  if (config.family == ModelFamily::attend && !config.tied_embeddings) {
    head.table_ = required_tensor(tensors, "output", {e, vocabulary}).transposed(0, 1);
    return head;
  }
  const std::string table = first_of(tensors, names.tables);
  head.table_ = required_tensor(tensors, table.empty() ? names_of(config, tensors).embeddings.words : table,
                                {vocabulary, e});
  if (const std::string bias = first_of(tensors, names.biases); !bias.empty())
    head.bias_ = required_tensor(tensors, bias, {vocabulary});
  return head;
}

std::vector<double> TokenHead::logits(std::span<const double> hidden) const {
  Tensor x = row_of(hidden);
  if (transform_) {
    x = dense(transform_->weight, transform_->bias, x);
    activate(transform_->activation, x);
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
  if (!transform_) return values_of(d);
  const Tensor before = dense(transform_->weight, transform_->bias, row_of(hidden));
  Tensor after = copy_of(before);
  activate(transform_->activation, after);
  layer_norm_backward(after, transform_->gamma, transform_->epsilon, d, {.x = d});
  activate_backward(transform_->activation, before, d);
  return values_of(product(d, transform_->weight));
}

}  // namespace attend
