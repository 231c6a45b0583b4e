// Walks strided tensors of up to four dimensions, and turns a run-time dtype into a type.
#pragma once

#include <attend/tensor.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/detail.h"
#include "base/error.h"

namespace attend::detail {

// Calls body(index), index being Dims, for every index of the shape, last axis
// fastest.
template <class Body>
void for_each_index(const Dims& shape, Body body) {
  Dims full{1, 1, 1, 1};
  const int lead = kMaxRank - shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis) full[lead + axis] = shape[axis];
  Dims index(shape);
  const auto set = [&](int axis, std::int64_t value) {
    if (axis >= lead) index[axis - lead] = value;
  };
  for (std::int64_t a = 0; a < full[0]; ++a) {
    set(0, a);
    for (std::int64_t b = 0; b < full[1]; ++b) {
      set(1, b);
      for (std::int64_t c = 0; c < full[2]; ++c) {
        set(2, c);
        for (std::int64_t d = 0; d < full[3]; ++d) {
          set(3, d);
          body(index);
        }
      }
    }
  }
}

inline std::int64_t offset_of(const Dims& strides, const Dims& index) noexcept {
  std::int64_t offset = 0;
  for (int axis = 0; axis < index.rank(); ++axis) offset += strides[axis] * index[axis];
  return offset;
}

// Calls body(T{}) with the storage type of a floating dtype.
template <class Body>
decltype(auto) with_float_type(const char* operation, DType dtype, Body body) {
  switch (dtype) {
    case DType::f32:
      return body(float{});
    case DType::f64:
      return body(double{});
    case DType::bf16:
      return body(bfloat16{});
    case DType::f16:
      return body(float16{});
    case DType::boolean:
    case DType::i64:
      break;
  }
  refuse(operation, "expected a floating type, got ", name_of(dtype));
}

// Exact widening of any floating element.
template <Element T>
double widen(T value) noexcept {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(to_float(value));
  }
}

// The f32 from which a second rounding, to 16 bits, gives what one rounding of the double would: an inexact
// value is cut towards zero and its last bit set ("round to odd"), so that it can no longer look like a tie.
inline float round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  const std::uint32_t away = std::abs(static_cast<double>(nearest)) > std::abs(value) ? 1 : 0;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - away) | 1u);
}

// Rounding to any element, to nearest even.
template <Element T>
T narrow(double value) noexcept {
  if constexpr (std::is_same_v<T, bfloat16>) return to_bfloat16(round_to_odd(value));
  if constexpr (std::is_same_v<T, float16>) return to_float16(round_to_odd(value));
  if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
}

}  // namespace attend::detail
