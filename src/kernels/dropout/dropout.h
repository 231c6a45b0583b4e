// Dropout of a row: some elements become 0, the others grow.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace attend::kernels {

// out[i] = stream.keeps(row, i) ? x[i] factor : 0, i < n. out may be x. The f32 form is over Google Highway
// and drops the same elements.
void dropout_row(const DropoutStream& stream, std::int64_t row, const float* x, std::int64_t n, float factor,
                 float* out) noexcept;
void dropout_row(const DropoutStream& stream, std::int64_t row, const double* x, std::int64_t n,
                 double factor, double* out) noexcept;

}  // namespace attend::kernels
