// Whether a reference has the same vectors in another order.
#pragma once

#include <attend/tensor.h>

#include "doctor/causes.h"

namespace attend::doctor {

// Matches every text with the row of the reference that is nearest to it. The trial explains a difference
// where each row is taken once, and all agree.
Trial try_row_order(ConstTensorView ours, ConstTensorView reference);

}  // namespace attend::doctor
