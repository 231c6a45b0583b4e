// A transformer as the papers write it, of one text, in float64 and plain loops: what passes, edits and
// gradients of the encoder are judged by.
#pragma once

#include <attend/encoder.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/names.h"

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

// Called on the way; what they change, the pass goes on with.
struct PassHooks {
  std::function<void(Matrix& embeddings)> embeddings{};                                   // (n, E)
  std::function<void(std::int64_t layer, std::int64_t head, Matrix& weights)> weights{};  // (n, n)
  std::function<void(std::int64_t layer, Matrix& attended)> attended{};                   // (n, E)
};

class Float64Transformer {
 public:
  Float64Transformer(const ModelConfig& config, const TensorSource& tensors);

  // What leaves the last layer, or layer number `layers`, (n, E).
  Matrix forward(std::span<const std::int32_t> text, const PassHooks& hooks = {},
                 std::optional<std::int64_t> layers = {}) const;

 private:
  const std::vector<double>& tensor(const std::string& name) const { return tensors_.at(name); }
  Matrix linear(const Matrix& x, const std::string& name, std::int64_t outputs) const;
  Matrix normalised(const Matrix& x, const std::string& name) const;
  Matrix attended(const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t layer,
                  const PassHooks& hooks) const;

  ModelConfig config_;
  Names names_;
  std::map<std::string, std::vector<double>> tensors_;
};

}  // namespace attend
