// The numbers that are not finite, as tests write them.
#pragma once

#include <limits>

namespace attend {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace attend
