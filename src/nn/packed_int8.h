// Matrices packed as whole numbers of 8 bits with a scale for each column: panels of 16 columns as the
// kernels read them (kernels/matmul_int8/int8_tile.h), then the scales and the sums of all columns.
#pragma once

#include "nn/packed_format.h"

namespace attend::detail {

extern const PackedFormat kPackedInt8;

}  // namespace attend::detail
