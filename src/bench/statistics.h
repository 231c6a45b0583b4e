// What a set of measurements says: the median, and how far they lie apart.
#pragma once

#include <vector>

namespace attend::bench {

struct Spread {
  double low = 0, median = 0, high = 0;  // the quartiles: half of all measurements lie between low and high
};

// The value below which the given share of the sorted values lies, between neighbours by interpolation.
// Throws when there are none.
double quantile(const std::vector<double>& sorted, double share);

Spread spread_of(std::vector<double> values);

}  // namespace attend::bench
