#include "attention/int8_rows.h"

#include "base/rows.h"
#include "kernels/attention/int8_row.h"
#include "kernels/isa.h"

namespace attend::detail {

std::int64_t int8_row_size(std::int64_t n) { return kernels::int8_row_floats(n); }

Tensor encoded_int8_rows(ConstTensorView rows) {
  kernels::require_isa();
  const std::int64_t n = rows.size(3), size = int8_row_size(n);
  const Tensor numbers = copy_of(rows, DType::f32);
  Tensor encoded(DType::f32, {rows.size(0), rows.size(1), rows.size(2), size});
  const float* const from = numbers.values<float>().data();
  float* const to = encoded.values<float>().data();
  for_each_row(row_count(encoded), size, [&](std::int64_t row, int) noexcept {
    kernels::encode_int8_row(from + row * n, n, to + row * size);
  });
  return encoded;
}

ConstTensorView as_int8_rows(ConstTensorView encoded, std::int64_t n) {
  Dims shape = encoded.shape();
  shape[3] = n;
  return encoded.with_layout(shape, encoded.strides());
}

Tensor decoded_int8_rows(ConstTensorView rows) {
  kernels::require_isa();
  const std::int64_t n = rows.size(3);
  Tensor numbers(DType::f32, rows.shape());
  float* const to = numbers.values<float>().data();
  for_each_row(row_count(rows), n, [&](std::int64_t row, int) noexcept {
    kernels::decode_int8_row(static_cast<const float*>(rows.raw()) + row_offset(rows, row), n, to + row * n);
  });
  return numbers;
}

}  // namespace attend::detail
