// Matrices packed as f32: panels of 16 columns, (n / 16 rounded up, k, 16), columns beyond n being 0.
#pragma once

#include "nn/packed_format.h"

namespace attend::detail {

extern const PackedFormat kPackedF32;

}  // namespace attend::detail
