// Summary of a set of measurements: the median, and how far they are spread.
#pragma once

#include <vector>

namespace attend::bench {

struct Spread {
  double low = 0, median = 0, high = 0;  // quartiles: half of all measurements lie between low and high
};

// The value below which the given share of the sorted values lies, interpolated between neighbours. Throws
// when there are no values.
double quantile(const std::vector<double>& sorted, double share);

Spread spread_of(std::vector<double> values);

}  // namespace attend::bench
