// The matrices of a model that learns in bf16, as its products read them: rounded once for each batch,
// forwards and transposed, because parameters change between batches and every pass of a batch reads the same
// numbers.
#pragma once

#include <attend/matmul.h>

#include <deque>

#include "model/operand.h"
#include "train/arena.h"
#include "train/parameters.h"

namespace attend::train {

class PackedWeights {
 public:
  // A parameter (in, out), or (out, in) of which the transpose is the matrix. Memory is planned in the arena.
  void add(const Parameters& parameters, int parameter, bool turned, Arena& arena);
  // Of a matrix in one direction and the other, in numbers of f32.
  static std::int64_t room_for(std::int64_t in, std::int64_t out);

  void pack(Parameters& parameters);
  // The matrix that was added for this parameter; it reads what pack() makes.
  model::Operand operand(int parameter) const;

 private:
  struct Matrix {
    int parameter = -1;
    bool turned = false;
    TensorView memory{}, transposed_memory{};
    PackedMatrix packed{}, transposed{};
  };
  std::deque<Matrix> matrices_;  // which products point to, so they must not move
};

}  // namespace attend::train
