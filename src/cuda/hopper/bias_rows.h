// A bias as the tensor cores' loop reads it: two neighbours at a time, f32 or 16 bits, at any strides that
// let it. What is in no such form is copied into f32 first; what is broadcast stays so.
#pragma once

#include "cuda/problem.h"

namespace attend::cuda {

struct BiasRows {
  const char* data = nullptr;  // null: no bias
  Number number = Number::f32;
  std::int64_t sequence = 0, head = 0, row = 0;  // bytes; 0 where it is broadcast
  std::int32_t columns = 0;                      // 0: one number for all keys of a row
};

class ReadableBias {
 public:
  ReadableBias(plugin::Place place, const plugin::View& bias);
  const BiasRows& rows() const { return rows_; }

 private:
  BiasRows rows_;
  Scratch copy_;
};

}  // namespace attend::cuda
