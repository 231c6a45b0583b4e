#include "kernels/matmul_int8/matmul_int8_reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/matmul_int8/matmul_int8.h"

namespace attend::kernels {
namespace {

bool finite_all(const float* values, std::int64_t n) noexcept {
  return std::all_of(values, values + n, [](float value) { return std::isfinite(value); });
}

void not_a_number(std::int64_t n, double* held) noexcept {
  std::fill_n(held, n, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

void int8_row_reference(const float* row, std::int64_t n, double* held) noexcept {
  if (!finite_all(row, n)) return not_a_number(n, held);
  std::fill_n(held, n, 0.0);
  double high[16] = {}, low[16] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    high[i % 16] = std::max<double>(high[i % 16], row[i]);
    low[i % 16] = std::max<double>(low[i % 16], -row[i]);
  }
  std::sort(high, high + 16, std::greater<>());
  std::sort(low, low + 16, std::greater<>());
  // Elements as whole numbers, for a range. The kernels multiply by the inverse in f32, which decides those
  // that are halfway between two.
  const auto write = [&](double from, double to, bool clamp) {
    const double width = from + to;
    if (!(255 / width < 3e38)) return false;  // so narrow that it counts as 0
    const auto inverse = static_cast<float>(255 / width);
    const auto whole = [&](double x) { return std::nearbyint(static_cast<float>(x) * inverse); };
    const double zero = whole(from), step = static_cast<float>(width / 255);
    int outliers = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double q = whole(row[i]) + zero, within = std::clamp<double>(q, 0, 255);
      outliers += q != within;
      held[i] = ((clamp ? within : q) - zero) * step;
    }
    return clamp || outliers <= kInt8Outliers;
  };
  const float allowed = kInt8Widening * (static_cast<float>(high[2]) + static_cast<float>(low[2]));
  const auto end_of = [&](const double* side) {
    const auto third = static_cast<float>(side[2]);
    return *std::find_if(side, side + 2, [&](double x) { return static_cast<float>(x) - third <= allowed; });
  };
  const double from = end_of(low), to = end_of(high);
  const double factor = std::max(1.0, (low[0] + high[0]) / (kInt8Reach * (from + to)));
  if (!write(from * factor, to * factor, false)) write(low[0], high[0], true);
}

void int8_column_reference(const float* column, std::int64_t n, double* held) noexcept {
  if (!finite_all(column, n)) return not_a_number(n, held);
  const auto largest_of = [&](std::int64_t first, std::int64_t last) {
    float largest = 0;
    for (std::int64_t i = first; i < last; ++i) largest = std::max(largest, std::abs(column[i]));
    return largest;
  };
  const double whole = largest_of(0, n) / 127;  // in f32
  for (std::int64_t first = 0; first < n; first += kInt8BlockDepth) {
    const std::int64_t last = std::min(first + kInt8BlockDepth, n);
    const double share = static_cast<float>(largest_of(first, last) / 127 / whole), scale = share * whole;
    for (std::int64_t i = first; i < last; ++i)
      held[i] =
          whole == 0 || scale == 0 ? 0 : std::clamp(std::nearbyint(column[i] / scale), -127.0, 127.0) * scale;
  }
}

}  // namespace attend::kernels
