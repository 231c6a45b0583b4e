// The plain matrix product in f32: blocked loops that the compiler turns into vectors.
#pragma once

#include <cstdint>

namespace attend::kernels {

// How far apart two rows, and two columns, of a matrix lie, in elements. Swapped, they are the transpose.
struct MatrixStrides {
  std::int64_t row = 0;
  std::int64_t column = 0;
  MatrixStrides transposed() const noexcept { return {column, row}; }
};

// c = a b + bias: a (m, k), b (k, n), c (m, n), bias (n) for every row, or null. c overlaps nothing.
//
// Row i of c is a function of row i of a alone, to the bit: not of m, nor of how rows are spread over calls.
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, MatrixStrides a_strides,
            const float* b, MatrixStrides b_strides, const float* bias, float* c,
            MatrixStrides c_strides) noexcept;

}  // namespace attend::kernels
