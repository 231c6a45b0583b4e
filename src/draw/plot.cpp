#include "draw/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace attend::draw {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double back(AxisScale scale, double place) {
  switch (scale) {
    case AxisScale::log2:
      return std::exp2(place);
    case AxisScale::log10:
      return std::pow(10.0, place);
    default:
      return place;
  }
}

bool can_be_shown(const Plot& plot, const Series& series, std::size_t i) {
  return !std::isnan(along(plot.x.scale, series.x[i])) && !std::isnan(along(plot.y.scale, series.y[i]));
}

// Long enough to be divided into ticks: any shorter, and adding a step to a double would not change it.
bool has_length(Extent extent) {
  const double length = extent.high - extent.low;
  return length > 1e-9 * std::max(std::abs(extent.low), std::abs(extent.high)) && length > 1e-300;
}

// Only points that can be drawn on both axes count.
template <class Place>
Extent extent_of(const Plot& plot, AxisScale scale, Place place) {
  Extent extent{kInfinity, -kInfinity};
  for (const Series& series : plot.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!can_be_shown(plot, series, i)) continue;
      extent.low = std::min(extent.low, place(series, i));
      extent.high = std::max(extent.high, place(series, i));
    }
  }
  if (extent.low > extent.high) return {};
  if (!has_length(extent)) {
    const bool linear = scale == AxisScale::linear;
    const double margin = linear ? std::max(0.5, std::abs(extent.low) * 0.1) : 0.5;
    return {extent.low - margin, extent.high + margin};
  }
  return extent;
}

std::vector<double> multiples_within(double step, double low, double high) {
  std::vector<double> values;
  const double slack = 1e-9 * (high - low);
  for (double n = std::ceil((low - slack) / step); n * step <= high + slack; ++n) values.push_back(n * step);
  return values;
}

std::vector<double> round_ticks(double low, double high, int most) {
  if (!has_length({low, high})) return {};
  double power = std::pow(10.0, std::floor(std::log10(high - low)) - 1);
  for (;; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if ((high - low) / (factor * power) > most + 1) continue;  // cheap, and bounds the list
      auto values = multiples_within(factor * power, low, high);
      if (static_cast<int>(values.size()) <= most) return values;
    }
  }
}

}  // namespace

void check(const Plot& plot) {
  for (const Series& series : plot.series) {
    if (series.x.size() != series.y.size()) {
      refuse("plot", "a series has ", series.x.size(), " x and ", series.y.size(), " y");
    }
  }
}

double along(AxisScale scale, double value) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  // Beyond a quarter of the range, differences of positions would overflow.
  if (!std::isfinite(value) || std::abs(value) > std::numeric_limits<double>::max() / 4) return nothing;
  if (scale == AxisScale::linear) return value;
  if (value <= 0) return nothing;
  return scale == AxisScale::log2 ? std::log2(value) : std::log10(value);
}

Extent x_extent(const Plot& plot) {
  return extent_of(plot, plot.x.scale,
                   [&](const Series& s, std::size_t i) { return along(plot.x.scale, s.x[i]); });
}

Extent y_extent(const Plot& plot) {
  return extent_of(plot, plot.y.scale,
                   [&](const Series& s, std::size_t i) { return along(plot.y.scale, s.y[i]); });
}

std::vector<double> ticks(AxisScale scale, Extent extent, int most) {
  most = std::max(most, 2);
  if (scale == AxisScale::linear) return round_ticks(extent.low, extent.high, most);
  if (!has_length(extent)) return {};
  for (double step = 1;; ++step) {
    auto powers = multiples_within(step, extent.low, extent.high);
    if (static_cast<int>(powers.size()) > most) continue;
    if (powers.size() < 2) break;
    for (double& power : powers) power = back(scale, power);
    // At the ends of the double range a power may be 0 or infinite.
    std::erase_if(powers, [&](double power) { return std::isnan(along(scale, power)); });
    return powers;
  }
  return round_ticks(back(scale, extent.low), back(scale, extent.high), most);
}

std::vector<double> x_ticks(const Plot& plot, int most) {
  std::vector<double> values = ticks(plot.x.scale, x_extent(plot), most);
  for (const Series& series : plot.series) {
    for (const double x : series.x) {
      if (x != std::round(x)) return values;
    }
  }
  std::erase_if(values, [](double value) { return value != std::round(value); });
  return values;
}

int points_left_out(const Plot& plot) {
  int count = 0;
  for (const Series& series : plot.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) count += can_be_shown(plot, series, i) ? 0 : 1;
  }
  return count;
}

}  // namespace attend::draw
