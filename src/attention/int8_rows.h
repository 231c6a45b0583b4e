// Keys and values of a cache in int8, as tensors: (B, H, L, floats of a row), each row one of
// kernels/attention/int8_row.h.
#pragma once

#include <attend/tensor.h>

#include "base/detail.h"

namespace attend::detail {

// The size of a tensor's last axis that holds rows of n numbers.
std::int64_t int8_row_size(std::int64_t n);

// Rows (B, H, L, n) of any floating type and strides, encoded.
Tensor encoded_int8_rows(ConstTensorView rows);

// Encoded rows seen as (B, H, L, n): a view that has their places and not their numbers.
ConstTensorView as_int8_rows(ConstTensorView encoded, std::int64_t n);
// The numbers of such a view, f32.
Tensor decoded_int8_rows(ConstTensorView rows);

}  // namespace attend::detail
