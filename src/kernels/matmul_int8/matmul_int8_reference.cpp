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
  const double factor = std::max(1.0, (low[0] + high[0]) / (kInt8Reach * (low[2] + high[2])));
  if (!write(low[2] * factor, high[2] * factor, false)) write(low[0], high[0], true);
}

void int8_column_reference(const float* column, std::int64_t n, double* held) noexcept {
  if (!finite_all(column, n)) return not_a_number(n, held);
  float largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(column[i]));
  const double scale = static_cast<float>(largest / 127);
  for (std::int64_t i = 0; i < n; ++i)
    held[i] = scale == 0 ? 0 : std::clamp(std::nearbyint(column[i] / scale), -127.0, 127.0) * scale;
}

}  // namespace attend::kernels
