#include "nn/packed_f32.h"

#include <algorithm>

#include "base/rows.h"
#include "kernels/convert/copy_row.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul.h"
#include "nn/packed_product.h"

namespace attend::detail {
namespace {

using kernels::kPanelColumns;

// Depth that is packed together: 64 rows of 16 floats are 4 KiB, so that a panel whose columns lie far apart
// is filled within the first-level cache.
constexpr std::int64_t kPackDepth = 64;

template <Element T>
void pack_panel(const T* w, std::int64_t row_step, std::int64_t column_step, std::int64_t depth,
                std::int64_t columns, float* panel) noexcept {
  for (std::int64_t first = 0; first < depth; first += kPackDepth) {
    const std::int64_t last = std::min(depth, first + kPackDepth);
    if (column_step == 1) {
      for (std::int64_t p = first; p < last; ++p)
        copy_row(w + p * row_step, 1, columns, panel + p * kPanelColumns, 1);
      continue;
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      copy_row(w + first * row_step + j * column_step, row_step, last - first,
               panel + first * kPanelColumns + j, kPanelColumns);
    }
  }
}

std::int64_t bytes_of_panels(std::int64_t k, std::int64_t n) {
  return element_count({kernels::panel_count(n), k, kPanelColumns}) *
         static_cast<std::int64_t>(sizeof(float));
}

void pack_panels(ConstTensorView w, void* memory) {
  kernels::require_isa();
  const std::int64_t k = w.size(0), n = w.size(1);
  if (k == 0 || n == 0) return;
  float* const data = static_cast<float*>(memory);
  with_float_type("matmul", w.dtype(), [&]<class T>(T) {
    const T* const source = w.data<T>();
    parallel_for(kernels::panel_count(n), [&](std::int64_t panel, int) noexcept {
      const std::int64_t first = panel * kPanelColumns, columns = std::min(kPanelColumns, n - first);
      float* const to = data + panel * k * kPanelColumns;
      if (columns < kPanelColumns) std::fill_n(to, k * kPanelColumns, 0.0F);
      pack_panel(source + first * w.stride(1), w.stride(0), w.stride(1), k, columns, to);
    });
  });
}

void transpose_panels(const PackedMatrix& w, void* memory) {
  const auto* const from = static_cast<const float*>(w.memory().raw());
  const std::int64_t k = w.rows();
  pack_transpose(k, w.columns(), memory, [&](std::int64_t row, std::int64_t column) noexcept {
    return from[(column / kPanelColumns * k + row) * kPanelColumns + column % kPanelColumns];
  });
}

void multiply_panels(ConstTensorView a_given, const PackedMatrix& w, TensorView out,
                     const MatmulEpilogue& epilogue) {
  if (out.count() == 0) return;
  kernels::require_isa();
  const RowsInOrder a(a_given);
  const std::int64_t k = w.rows();
  const ProductCut cut(row_count(a_given), w.columns(), k, kFloatGrain);
  const auto* const panels = static_cast<const float*>(w.memory().raw());
  for_each_block(cut, out, epilogue,
                 [&](const ProductBlock& at, const kernels::MatmulFinish& finish) noexcept {
                   kernels::MatmulBlock block;
                   block.rows = at.rows;
                   block.columns = at.columns;
                   block.depth = k;
                   block.panels = panels + at.column * k;
                   if (at.next_column >= 0) block.ahead = panels + at.next_column * k;
                   if (k > 0) {  // else there is no memory to point into
                     block.a = a.at(at.row);
                     block.a_row = a.row_step();
                   }
                   block.finish = finish;
                   kernels::matmul(block);
                 });
}

}  // namespace

const PackedFormat kPackedF32{PackedAs::f32, bytes_of_panels, pack_panels, transpose_panels, multiply_panels};

}  // namespace attend::detail
