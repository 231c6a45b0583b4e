// The matrix product in float64, as the formula has it: what the f32 kernels are judged by.
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
// Its gradients are products too: d_a = d_c b^T and d_b = a^T d_c, with the strides transposed.
void matmul_reference(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                      MatrixStrides a_strides, const double* b, MatrixStrides b_strides, const double* bias,
                      double* c, MatrixStrides c_strides) noexcept;

}  // namespace attend::kernels
