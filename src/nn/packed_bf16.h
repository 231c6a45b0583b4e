// Matrices packed as bf16: panels of 16 columns, (n / 16 rounded up, k / 2 rounded up, 16) pairs of numbers,
// the even row in the lower half. What lies beyond k and n is 0.
#pragma once

#include "nn/packed_format.h"

namespace attend::detail {

extern const PackedFormat kPackedBf16;

// Whether products of bf16 numbers are quicker here than those of f32. After require_isa().
bool multiplies_bf16_numbers() noexcept;

// out += x^T d, x (rows, in) and d (rows, out) of f32 rounded to bf16; the numbers of a row lie side by side.
// Only where multiplies_bf16_numbers() holds. memory: of so many bytes, aligned to 64.
void add_product_over_rows(ConstTensorView x, ConstTensorView d, TensorView out, void* memory);
std::int64_t bytes_over_rows(std::int64_t rows, std::int64_t in, std::int64_t out);

}  // namespace attend::detail
