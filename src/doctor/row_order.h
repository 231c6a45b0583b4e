// Whether a reference has the same vectors in another order.
#pragma once

#include <attend/tensor.h>

#include "doctor/causes.h"

namespace attend::doctor {

// Matches every text with the nearest row of the reference. The trial explains a difference if each row is
// used once and all agree.
Trial try_row_order(ConstTensorView ours, ConstTensorView reference);

}  // namespace attend::doctor
