// The rows of all processes, in the order of the sequence.
#pragma once

#include "spread/call.h"

namespace attend::spread {

// own: (B, H, own rows, size). The same for all, or for one process alone: the others get no elements.
std::vector<Tensor> gather(Processes& processes, const ZigzagCut& cut,
                           const std::vector<ConstTensorView>& own, int only = -1);

}  // namespace attend::spread
