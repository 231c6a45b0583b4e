// Rows of bf16 and f16 to f32 and back, by vectors: the same bits as to_float, to_bfloat16 and to_float16.
#pragma once

#include <attend/dtype.h>

#include <cstdint>

namespace attend::kernels {

void widen_row(const bfloat16* from, std::int64_t n, float* to) noexcept;
void widen_row(const float16* from, std::int64_t n, float* to) noexcept;
void narrow_row(const float* from, std::int64_t n, bfloat16* to) noexcept;
void narrow_row(const float* from, std::int64_t n, float16* to) noexcept;

// `rows` of n numbers, from_row and to_row apart; each is followed by zeros up to to_row.
void narrow_rows(const float* from, std::int64_t from_row, std::int64_t rows, std::int64_t n, bfloat16* to,
                 std::int64_t to_row) noexcept;

}  // namespace attend::kernels
