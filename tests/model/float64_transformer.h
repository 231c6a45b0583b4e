// A transformer as the papers write it, for one text, in float64 and plain loops: it judges the passes, edits
// and gradients of models.
#pragma once

#include <attend/transformer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/tensor_names.h"

namespace attend {

struct Matrix {
  Matrix(std::int64_t row_count, std::int64_t column_count)
      : rows(row_count),
        columns(column_count),
        values(static_cast<std::size_t>(row_count * column_count), 0.0) {}
  double& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  std::int64_t rows, columns;
  std::vector<double> values;
};

// Called during the pass, which continues with what they change.
struct PassHooks {
  std::function<void(Matrix& embeddings)> embeddings{};                                   // (n, E)
  std::function<void(std::int64_t layer, std::int64_t head, Matrix& weights)> weights{};  // (n, n)
  std::function<void(std::int64_t layer, Matrix& attended)> attended{};  // (n, heads × size)
};

class Float64Transformer {
 public:
  Float64Transformer(const ModelDescription& description, const TensorSource& tensors);

  // What leaves the last layer, or layer number `layers`, (n, E). source: how many of the tokens are that of
  // a model with an encoder and a decoder.
  Matrix forward(std::span<const std::int32_t> text, const PassHooks& hooks = {},
                 std::optional<std::int64_t> layers = {}, std::int64_t source = 0) const;

 private:
  const std::vector<double>& tensor(const std::string& name) const { return tensors_.at(name); }
  Matrix linear(const Matrix& x, const std::string& name) const;
  Matrix side_by_side(const Matrix& x, const std::vector<std::string>& names) const;
  Matrix normalised(const Matrix& x, const NormDescription& norm, const std::string& name,
                    std::int64_t size) const;
  Matrix normalised(const Matrix& x, const NormDescription& norm, const std::string& name) const {
    return normalised(x, norm, name, x.columns);
  }
  Matrix embedded(std::span<const std::int32_t> text, std::int64_t source) const;
  Matrix attended(Matrix q, Matrix k, const Matrix& v, std::int64_t number, const PassHooks& hooks,
                  std::int64_t source) const;
  Matrix fed_forward(const LayerDescription& layer, const model::LayerNames& names, const Matrix& x) const;

  ModelDescription description_;
  model::TensorNames names_;
  std::map<std::string, std::vector<double>> tensors_;
  std::map<std::string, std::int64_t> outputs_;  // of each linear layer
};

}  // namespace attend
