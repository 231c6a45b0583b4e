// How much memory this process may have at most, and how sizes of memory are written.
#pragma once

#include <string>

#include "base/detail.h"

namespace attend::detail {

// Bytes: what the machine has, or less where a control group (a container) or `ulimit` allows less. What
// others use at the moment is not taken away: a need above this can never be met here.
double memory_limit();

// 24600000000 as "24.6 GB".
std::string memory_text(double bytes);

}  // namespace attend::detail
