// A bias that depends only on the distance between query and key, as attention() takes it: (1, heads,
// queries, keys) seen through strides, stored as one row of queries + keys - 1 numbers per head. Nothing of
// size n x n is made.
#pragma once

#include <attend/positions.h>
#include <attend/tensor.h>

namespace attend::model {

class DistanceBias {
 public:
  // table (buckets, heads), as T5 and MPNet learn it. Keys stand at places 0, 1, ..., queries at `first` and
  // after it: 0, or as many as a cache holds.
  DistanceBias(ConstTensorView table, const RelativeBuckets& buckets, std::int64_t first,
               std::int64_t queries, std::int64_t keys);
  ConstTensorView view() const;

 private:
  std::int64_t queries_, keys_;
  Tensor rows_;  // (heads, queries + keys - 1): entry queries - 1 + j - i is for query i and key j
};

}  // namespace attend::model
