// One vector for each sequence that went through a model, and the backward pass to those of its tokens.
#pragma once

#include <attend/pooling.h>

#include <cstdint>
#include <vector>

#include "train/model.h"

namespace attend::learn {

class SentenceVectors {
 public:
  // hidden: as Model::hidden() gives it for these sequences. Padding does not count.
  SentenceVectors(ConstTensorView hidden, const train::Sequences& sequences, std::vector<Pooling> poolings);

  ConstTensorView vectors() const { return vectors_; }  // (count, E times the number of poolings)

  // d_hidden, which is 0 at padding, from the gradient of the vectors.
  void backward(ConstTensorView d_vectors, TensorView d_hidden) const;

 private:
  std::int64_t length_;
  std::vector<Pooling> poolings_;
  std::vector<std::int64_t> ends_{0};
  Tensor tokens_;  // without padding, side by side
  Tensor vectors_;
};

}  // namespace attend::learn
