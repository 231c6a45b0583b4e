// Tensors as the bulk copy engine sees them: (column, row, head, sequence), in boxes of 64 columns.
#pragma once

#include <cuda.h>

#include "cuda/problem.h"

namespace attend::cuda {

// A 16-bit tensor that TMA can read: as it is where its strides allow it, else through a copy with rows side
// by side. What is beyond its columns and rows reads as 0.
class TmaTensor {
 public:
  TmaTensor(plugin::Place place, const plugin::View& view, bool packed, int box_rows)
      : TmaTensor(place, view, packed, box_rows, CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {}
  // promotion: how much of what is next to a line the L2 cache fetches along with it.
  TmaTensor(plugin::Place place, const plugin::View& view, bool packed, int box_rows,
            CUtensorMapL2promotion promotion);
  const CUtensorMap& map() const { return map_; }
  const Placed& tensor() const { return placed_; }  // the one that is read

 private:
  CUtensorMap map_;
  Placed placed_;
  Scratch copy_;
};

}  // namespace attend::cuda
