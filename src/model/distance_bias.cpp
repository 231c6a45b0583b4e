#include "model/distance_bias.h"

#include <algorithm>

namespace attend::model {

DistanceBias::DistanceBias(ConstTensorView table, const RelativeBuckets& buckets, std::int64_t first,
                           std::int64_t queries, std::int64_t keys)
    : queries_(queries),
      keys_(keys),
      rows_(DType::f32, {table.size(1), std::max<std::int64_t>(0, queries + keys - 1)}) {
  // The row of the last query covers every distance, seen past the last key too.
  if (rows_.size(1) > 0) relative_bias(table, buckets, first + queries - 1, rows_.view().with_axis(1));
}

ConstTensorView DistanceBias::view() const {
  const std::int64_t width = rows_.size(1);
  return {rows_.view().data<float>() + std::max<std::int64_t>(0, queries_ - 1),
          {1, rows_.size(0), queries_, keys_},
          {0, width, -1, 1}};
}

}  // namespace attend::model
