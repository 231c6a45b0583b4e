#include "kernels/matmul_int8/matmul_int8_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  double low = 0, high = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    low = std::min<double>(low, row[i]);
    high = std::max<double>(high, row[i]);
  }
  const double step = (high - low) / 255;
  std::fill_n(held, n, 0.0);
  if (!(255 / (high - low) < 3e38)) return;  // so narrow that it counts as 0
  // The kernels multiply by the inverse in f32, which decides elements that are halfway between two numbers.
  const auto inverse = static_cast<float>(255 / (high - low));
  const auto whole = [&](double x) { return std::nearbyint(static_cast<float>(x) * inverse); };
  const double zero = whole(-low);
  for (std::int64_t i = 0; i < n; ++i)
    held[i] = (std::clamp<double>(whole(row[i]) + zero, 0, 255) - zero) * static_cast<float>(step);
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
