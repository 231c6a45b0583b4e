// Products of one vector with the rows of a table as it is stored: what a model that writes needs of its
// words, one token at a time. Each row is read once, so packing it first would double the memory and save
// nothing.
#pragma once

#include <attend/dtype.h>

#include <cstdint>

namespace attend::kernels {

// out[i] = x . row i, i < rows, of a table whose rows of `depth` elements lie `stride` apart. Summed in f32,
// in an order that depends on the depth alone.
void row_products(const float* x, std::int64_t depth, const float* table, std::int64_t stride,
                  std::int64_t rows, float* out) noexcept;
void row_products(const float* x, std::int64_t depth, const bfloat16* table, std::int64_t stride,
                  std::int64_t rows, float* out) noexcept;
void row_products(const float* x, std::int64_t depth, const float16* table, std::int64_t stride,
                  std::int64_t rows, float* out) noexcept;

}  // namespace attend::kernels
