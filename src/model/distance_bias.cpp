#include "model/distance_bias.h"

#include <algorithm>

namespace attend::model {

DistanceBias::DistanceBias(ConstTensorView table, const RelativeBuckets& buckets, std::int64_t n)
    : n_(n), rows_(DType::f32, {table.size(1), std::max<std::int64_t>(0, 2 * n - 1)}) {
  // The row of one query at place n - 1 covers every distance.
  if (n > 0) relative_bias(table, buckets, n - 1, rows_.view().with_axis(1));
}

ConstTensorView DistanceBias::view() const {
  const std::int64_t width = rows_.size(1);
  // Query i, key j: entry n - 1 + j - i.
  return {rows_.view().data<float>() + std::max<std::int64_t>(0, n_ - 1),
          {1, rows_.size(0), n_, n_},
          {0, width, -1, 1}};
}

}  // namespace attend::model
