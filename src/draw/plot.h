// A line plot as data: one or several series over linear or logarithmic axes.
#pragma once

#include <string>
#include <vector>

namespace attend::draw {

enum class AxisScale { linear, log2, log10 };

struct Axis {
  std::string label;
  AxisScale scale = AxisScale::linear;
};

struct Series {
  std::string name;
  std::vector<double> x, y;  // of equal length
};

struct Plot {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
};

// Throws std::invalid_argument when a series does not have as many x as y.
void check(const Plot& plot);

// The position of a value along an axis: the value or its logarithm. NaN where the axis cannot show it
// (infinities, and values at or below 0 on a logarithmic axis).
double along(AxisScale scale, double value);

// The values of all series that can be shown, as an interval of along(); never of length 0.
struct Extent {
  double low = 0, high = 1;
};
Extent x_extent(const Plot& plot);
Extent y_extent(const Plot& plot);

// Round values at which to mark an axis within an extent, at most `most` of them: powers of the base on a
// logarithmic axis that spans several, otherwise multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(AxisScale scale, Extent extent, int most);

// Marks of the x axis: whole numbers only where all of the plot's x are whole, as layers are.
std::vector<double> x_ticks(const Plot& plot, int most);

// How many points are omitted because an axis cannot show them.
int points_left_out(const Plot& plot);

}  // namespace attend::draw
