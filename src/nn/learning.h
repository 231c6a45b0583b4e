// In which numbers a model that learns multiplies: docs/training.md, "In bf16".
#pragma once

#include <attend/matmul.h>

#include "base/detail.h"

namespace attend::detail {

// What a matrix is packed as, which is packed again for every batch. bf16 where the processor multiplies
// bf16; where it does not, f32, which is then as quick, and exact. Throws std::invalid_argument for int8,
// whose steps are too coarse for gradients.
PackedAs packed_to_learn(Precision precision);

}  // namespace attend::detail
