// Matrices packed as f32: panels of 16 columns, (n / 16 rounded up, k, 16), columns beyond n being 0.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "nn/packed_format.h"

namespace attend::detail {

extern const PackedFormat kPackedF32;

// Packs the transpose of a matrix (k, n), whose numbers number(row, column) gives, into memory. Squares of 16
// by 16, each within one panel here and there: 1 KiB, so that both stay in the first-level cache.
template <class Number>
void pack_transpose(std::int64_t k, std::int64_t n, void* memory, const Number& number) {
  using kernels::kPanelColumns;
  if (k == 0 || n == 0) return;
  auto* const to = static_cast<float*>(memory);
  parallel_for(kernels::panel_count(k), [&](std::int64_t panel, int) noexcept {
    const std::int64_t first = panel * kPanelColumns, rows = std::min(kPanelColumns, k - first);
    if (rows < kPanelColumns) std::fill_n(to + panel * n * kPanelColumns, n * kPanelColumns, 0.0F);
    for (std::int64_t column = 0; column < n; ++column) {
      float* const line = to + (panel * n + column) * kPanelColumns;
      for (std::int64_t row = 0; row < rows; ++row) line[row] = number(first + row, column);
    }
  });
}

}  // namespace attend::detail
