// The loss of a guess: how surprising the right answer was to softmax(logits).
#pragma once

#include <cstdint>
#include <span>

#include <attend/tensor.h>

namespace attend {

// A row with this target does not count.
inline constexpr std::int32_t kNoTarget = -1;

struct CrossEntropy {
  double loss = 0;  // the sum of -log softmax(logits[i])[targets[i]] over the rows that have a target
  std::int64_t counted = 0;  // rows that have a target
  std::int64_t right = 0;    // rows in which the target has the largest logit
};

// logits (rows, n), f32 or f64, any strides; targets (rows), each from 0 to n - 1 or kNoTarget. d_logits =
// (softmax(logits) - 1[target]) weight, 0 in rows without a target; the shape and type of logits, may be
// logits itself; or not given. Row by row, added up in their order: the same bits with any number of threads.
CrossEntropy cross_entropy(ConstTensorView logits, std::span<const std::int32_t> targets, double weight,
                           TensorView d_logits);

}  // namespace attend
