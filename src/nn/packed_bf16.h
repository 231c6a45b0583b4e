// Matrices packed as bf16: panels of 16 columns, (n / 16 rounded up, k / 2 rounded up, 16) pairs of numbers,
// the even row in the lower half. What lies beyond k and n is 0.
#pragma once

#include "nn/packed_format.h"

namespace attend::detail {

extern const PackedFormat kPackedBf16;

}  // namespace attend::detail
