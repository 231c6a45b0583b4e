// A key or a value of a cache in int8: a scale, and whole numbers from -127 to 127 that are multiplied by it.
#pragma once

#include <cstdint>

namespace attend::kernels {

// A row of n numbers takes so many floats: the scale, then the numbers, a byte each.
constexpr std::int64_t int8_row_floats(std::int64_t n) noexcept { return 1 + (n + 3) / 4; }

// Rounded to nearest, so that a number is off by 1/254 of the row's largest at most. The scale is NaN where a
// number is not finite.
void encode_int8_row(const float* numbers, std::int64_t n, float* row) noexcept;
void decode_int8_row(const float* row, std::int64_t n, float* numbers) noexcept;

}  // namespace attend::kernels
