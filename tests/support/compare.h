// How far apart two tensors are, whatever their types and strides.
#pragma once

#include <attend/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace attend {

// The elements in row-major order, widened exactly (an i64 up to 2^53); a boolean is 0 or 1.
inline std::vector<double> values_of(ConstTensorView view) {
  if (view.dtype() == DType::i64) {
    const Tensor packed = copy_of(view);
    std::vector<double> values;
    for (const std::int64_t value : packed.values<std::int64_t>())
      values.push_back(static_cast<double>(value));
    return values;
  }
  if (view.dtype() == DType::boolean) {
    const Tensor packed = copy_of(view);
    const auto* bytes = static_cast<const std::uint8_t*>(packed.view().raw());
    std::vector<double> values(static_cast<std::size_t>(packed.count()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = bytes[i] != 0 ? 1 : 0;
    return values;
  }
  const Tensor packed = copy_of(view, DType::f64);
  const auto values = packed.values<double>();
  return {values.begin(), values.end()};
}

// NaN and NaN are 0 apart, and so are equal infinities; NaN and a number are infinitely far apart.
inline double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double apart = std::abs(a - b);
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

// The largest difference between elements; infinity when the shapes differ.
inline double max_abs_difference(ConstTensorView a, ConstTensorView b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  const std::vector<double> left = values_of(a), right = values_of(b);
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) largest = std::max(largest, difference(left[i], right[i]));
  return largest;
}

// The same type, shape and bits: stricter than equality, which takes 0 for -0 and no NaN for itself.
inline bool same_bits(ConstTensorView a, ConstTensorView b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor left = copy_of(a), right = copy_of(b);
  const auto bytes = static_cast<std::size_t>(left.count()) * size_of(left.dtype());
  return bytes == 0 || std::memcmp(left.view().raw(), right.view().raw(), bytes) == 0;
}

}  // namespace attend
