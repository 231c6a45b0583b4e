// A bias that depends only on the distance between query and key, as attention() takes it: (1, heads, n, n)
// seen through strides, stored as one row of 2 n - 1 numbers per head. Nothing of size n x n is made.
#pragma once

#include <attend/positions.h>
#include <attend/tensor.h>

namespace attend::model {

class DistanceBias {
 public:
  // table (buckets, heads), as T5 and MPNet learn it.
  DistanceBias(ConstTensorView table, const RelativeBuckets& buckets, std::int64_t n);
  ConstTensorView view() const;

 private:
  std::int64_t n_;
  Tensor rows_;  // (heads, 2 n - 1): entry n - 1 + d is for a key d places after its query
};

}  // namespace attend::model
