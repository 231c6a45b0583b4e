// The order of lists whose largest come first. A number that is not one comes before all others: it is what a
// reader has to see, and comparisons with it are false, which no algorithm that sorts may meet.
#pragma once

#include <cmath>

#include "base/detail.h"

namespace attend::detail {

inline bool larger_first(double a, double b) noexcept { return std::isnan(a) ? !std::isnan(b) : a > b; }

}  // namespace attend::detail
