// Float64, as only one place of a text is computed and the answer is compared with others; f32 for writing.
#include <attend/token_head.h>

#include <attend/gelu.h>
#include <attend/layer_norm.h>
#include <attend/matmul.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "model/softcap.h"
#include "model/tensor_source.h"
#include "model/weights.h"
#include "model/word_table.h"
#include "nn/row_products.h"

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
  const std::size_t columns = added.values<double>().size();
  for (std::size_t i = 0; i < out.values<double>().size(); ++i)
    out.values<double>()[i] += added.values<double>()[i % columns];
  return out;
}

}  // namespace

std::optional<TokenHead> TokenHead::find(const ModelDescription& description, const TensorSource& tensors,
                                         const ModelOptions& options) {
  const TensorNames all = names_in(description, tensors);
  const OutputNames& names = all.output;
  if (names.none || (!names.dense.empty() && !tensors.contains(names.dense + ".weight"))) return std::nullopt;
  const std::int64_t e = description.hidden_size, vocabulary = description.vocabulary_size;
  const std::int64_t row = description.table_size();  // of the table of tokens
  TokenHead head;
  head.source_ = tensors;
  head.scale_ = description.output_scale;
  head.softcap_ = description.output_softcap;
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
  if (head.transform_ && head.softcap_ > 0)
    refuse("model", "a cap on logits is not supported after a dense layer");
  if (names.table_input_first) {
    head.table_ = required_tensor(tensors, names.tables.front(), {row, vocabulary}).transposed(0, 1);
  } else {
    const std::string& name = table.empty() ? all.words : table;
    if (options.precision == Precision::int8) head.blocks_ = stored_blocks(tensors, name, {vocabulary, row});
    if (!head.blocks_) head.table_ = required_tensor(tensors, name, {vocabulary, row});
  }
  if (const std::string bias = first_of(tensors, names.biases); !bias.empty())
    head.bias_ = required_tensor(tensors, bias, {vocabulary});
  return head;
}

void TokenHead::require_writer() const {
  if (transform_ || bias_.given())
    refuse("generate", "the model's output layer fills in masked tokens and cannot write text");
}

std::vector<double> TokenHead::direction(std::int32_t token) const {
  require_writer();
  require_token(token);
  std::vector<double> row = values_of(rows_of_table(token, token + 1));
  for (double& value : row) value *= scale_;
  return row;
}

TokenHead TokenHead::for_writing() const {
  require_writer();
  TokenHead head = *this;
  if (blocks_) {
    const BlockView blocks = blocks_->view;
    head.packed_ = std::make_shared<const PackedMatrix>(std::span(&blocks, 1));
    return head;
  }
  if (table_.dtype() != DType::f64 && table_.stride(1) == 1) return head;
  head.rows_ = std::make_shared<const Tensor>(copy_of(table_, DType::f32));
  head.table_ = head.rows_->view();
  return head;
}

Tensor TokenHead::next_logits(ConstTensorView hidden) const {
  Tensor logits(DType::f32, {hidden.size(0), vocabulary()});
  packed_ ? matmul(hidden, *packed_, logits) : detail::row_products(hidden, table_, logits);
  if (scale_ != 1) {
    for (float& logit : logits.values<float>()) logit *= static_cast<float>(scale_);
  }
  softcap(logits.values<float>(), softcap_);
  return logits;
}

Tensor TokenHead::transformed(ConstTensorView hidden) const {
  Tensor x = copy_of(hidden, DType::f64);
  for (double& value : x.values<double>()) value *= scale_;
  if (!transform_) return x;
  x = dense(transform_->weight, transform_->bias, x);
  activate_head(transform_->activation, x);
  layer_norm(x, transform_->gamma, transform_->beta, transform_->epsilon, x);
  return x;
}

void TokenHead::require_token(std::int32_t token) const {
  if (token < 0 || token >= vocabulary())
    refuse("lens", "token is ", token, ", expected 0 to ", vocabulary() - 1);
}

std::int64_t TokenHead::vocabulary() const { return blocks_ ? blocks_->view.rows : table_.size(0); }

Tensor TokenHead::rows_of_table(std::int64_t first, std::int64_t last) const {
  return (blocks_ ? WordTable(*blocks_) : WordTable(table_)).read(first, last, DType::f64);
}

Tensor TokenHead::logits(ConstTensorView hidden) const {
  const Tensor x = transformed(hidden);
  const std::int64_t tokens = vocabulary();
  Tensor logits(DType::f64, {x.size(0), tokens});
  constexpr std::int64_t kRows = 1024;  // of the table, converted to f64 at a time
  for (std::int64_t first = 0; first < tokens; first += kRows) {
    const std::int64_t last = std::min(tokens, first + kRows);
    const Tensor rows = rows_of_table(first, last);
    copy(product(x, rows.view().transposed(0, 1)), logits.view().slice(1, first, last));
  }
  if (bias_.given()) {
    const Tensor bias = copy_of(bias_, DType::f64);
    for (std::size_t i = 0; i < logits.values<double>().size(); ++i)
      logits.values<double>()[i] += bias.values<double>()[i % static_cast<std::size_t>(tokens)];
  }
  softcap(logits.values<double>(), softcap_);
  return logits;
}

std::vector<double> TokenHead::logits(std::span<const double> hidden) const {
  return values_of(logits(row_of(hidden)));
}

std::vector<double> TokenHead::logits(std::span<const double> hidden,
                                      std::span<const std::int32_t> tokens) const {
  const Tensor x = transformed(row_of(hidden));
  std::vector<double> logits;
  for (const std::int32_t token : tokens) {
    require_token(token);
    const Tensor row = rows_of_table(token, token + 1);
    double logit = std::inner_product(x.values<double>().begin(), x.values<double>().end(),
                                      row.values<double>().begin(), 0.0);
    if (bias_.given()) logit += copy_of(bias_.slice(0, token, token + 1), DType::f64).values<double>()[0];
    logits.push_back(logit);
  }
  softcap(std::span(logits), softcap_);
  return logits;
}

std::vector<double> TokenHead::gradient(std::span<const double> hidden, std::int32_t token) const {
  require_token(token);
  Tensor d = rows_of_table(token, token + 1);
  if (softcap_ > 0) {  // in models that write, which have no other part before or after the table
    const double logit =
        scale_ * std::inner_product(hidden.begin(), hidden.end(), d.values<double>().begin(), 0.0);
    const double capped = std::tanh(logit / softcap_);
    for (double& value : d.values<double>()) value *= 1 - capped * capped;
  }
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
