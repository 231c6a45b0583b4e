#include "bench/naive.h"

#include <attend/matmul.h>
#include <attend/softmax.h>

#include <cmath>

namespace attend::bench {

void naive_attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, TensorView scores,
                     TensorView out) {
  const float scale = 1 / std::sqrt(static_cast<float>(q.size(1)));
  Tensor scaled = copy_of(q);
  for (float& value : scaled.values<float>()) value *= scale;

  matmul(scaled, PackedMatrix(k.transposed(0, 1)), scores);
  softmax(scores, scores);
  matmul(scores, PackedMatrix(v), out);
}

double matrix_bytes(std::int64_t n) {
  return static_cast<double>(n) * static_cast<double>(n) * sizeof(float);
}

}  // namespace attend::bench
