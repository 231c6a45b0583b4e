// What rows and columns stand for once they are whole numbers of 8 bits, in float64: the product of these is
// what the int8 kernels are judged by.
#pragma once

#include <cstdint>

namespace attend::kernels {

// A row of the left-hand matrix, by the rule of quantise_rows(). All NaN if one of its elements is NaN or
// infinite.
void int8_row_reference(const float* row, std::int64_t n, double* held) noexcept;

// A column of the right-hand matrix, 128 elements at a time: 255 numbers about 0, of which the greatest is
// the element furthest from it. All NaN if one of its elements is NaN or infinite.
void int8_column_reference(const float* column, std::int64_t n, double* held) noexcept;

}  // namespace attend::kernels
