// How tokens enter a model: a row of the table of words, and where they stand.
#pragma once

#include <attend/tensor.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/layers.h"

namespace attend::train {

// The parameters that hold the tables: words (vocabulary, E), learned places (length, E), the one type (1,
// E). -1: there is none.
struct EmbeddingTables {
  int words = -1, positions = -1, type = -1;
};

class Embedder {
 public:
  Embedder(Parameters& parameters, const std::string& name, const ModelShape& shape,
           const EmbeddingTables& tables, std::uint64_t stream);

  void plan(Arena& arena, std::int64_t rows);
  // After the memory is there.
  void prepare(const ModelShape& shape, DType dtype);

  // (rows, E). ids: as many as rows.
  TensorView forward(Pass& pass, std::span<const std::int32_t> ids);
  // d: the gradient of what left; afterwards of no use.
  void backward(Pass& pass, std::span<const std::int32_t> ids, TensorView d);

 private:
  EmbeddingTables tables_;
  std::optional<Norm> norm_;  // where norms stand behind sums
  std::int64_t hidden_;
  std::uint64_t stream_;
  Tensor sinusoidal_;                 // (length, E), where positions are of that kind
  TensorView embedded_{}, out_{};     // (rows, E): before and after the norm and dropout
  std::vector<std::int32_t> places_;  // 0, 1, ... of each row
  std::vector<std::int32_t> types_;   // 0 of each row
};

}  // namespace attend::train
