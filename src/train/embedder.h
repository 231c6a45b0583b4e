// How tokens enter a model: a row of the table of words, and where they stand.
#pragma once

#include <attend/tensor.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/layers.h"

namespace attend::train {

class Embedder {
 public:
  // words: the parameter that holds the table, (vocabulary, E). positions: that of the learned places,
  // (length, E), or -1.
  Embedder(Parameters& parameters, const std::string& name, const ModelShape& shape, int words, int positions,
           std::uint64_t stream);

  void plan(Arena& arena, std::int64_t rows);
  // After the memory is there.
  void prepare(const ModelShape& shape, DType dtype);

  // (rows, E). ids: as many as rows.
  TensorView forward(Pass& pass, std::span<const std::int32_t> ids);
  // d: the gradient of what left; afterwards of no use.
  void backward(Pass& pass, std::span<const std::int32_t> ids, TensorView d);

 private:
  int words_, positions_;
  std::optional<Norm> norm_;  // where norms stand behind sums
  std::int64_t hidden_;
  std::uint64_t stream_;
  Tensor sinusoidal_;                 // (length, E), where positions are of that kind
  TensorView embedded_{}, out_{};     // (rows, E): before and after the norm and dropout
  std::vector<std::int32_t> places_;  // 0, 1, ... of each row
};

}  // namespace attend::train
