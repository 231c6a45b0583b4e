#include "kernels/matmul/matmul_reference.h"

namespace attend::kernels {

void matmul_reference(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                      MatrixStrides a_strides, const double* b, MatrixStrides b_strides, const double* bias,
                      double* c, MatrixStrides c_strides) noexcept {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum += a[i * a_strides.row + p * a_strides.column] * b[p * b_strides.row + j * b_strides.column];
      }
      c[i * c_strides.row + j * c_strides.column] = sum + (bias != nullptr ? bias[j] : 0);
    }
  }
}

}  // namespace attend::kernels
