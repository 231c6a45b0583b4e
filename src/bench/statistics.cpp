#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/error.h"

namespace attend::bench {

double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) refuse("bench", "there are no measurements");
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

}  // namespace attend::bench
