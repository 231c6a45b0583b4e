// A bias that depends on the distance of query and key alone, as attention() takes it: (1, heads, queries,
// keys) seen through strides, held as one row of queries + keys - 1 numbers a head. Nothing of size n x n
// exists.
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
