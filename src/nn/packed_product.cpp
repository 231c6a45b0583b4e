#include "nn/packed_product.h"

#include "kernels/convert/copy_row.h"
#include "kernels/matmul/matmul.h"

namespace attend::detail {
namespace {

// All of it as f32 rows side by side.
Tensor gathered(ConstTensorView view) {
  const std::int64_t rows = row_count(view), columns = row_size(view);
  Tensor copy(DType::f32, {rows, columns});
  float* const to = copy.values<float>().data();
  for_each_row(rows, columns,
               [&](std::int64_t row, int) noexcept { gather(view, row, 1, 0, columns, to + row * columns); });
  return copy;
}

}  // namespace

ProductCut::ProductCut(std::int64_t m_given, std::int64_t n_given, std::int64_t k) : m(m_given), n(n_given) {
  using kernels::kMatmulRows, kernels::kPanelColumns;
  constexpr std::int64_t kTile = 8, kStep = 3 * kPanelColumns, kBlocks = 16, kWork = 1 << 19;
  row_blocks = (m + kMatmulRows - 1) / kMatmulRows;
  rows = std::min(kMatmulRows, ((m + row_blocks - 1) / row_blocks + kTile - 1) / kTile * kTile);
  row_blocks = (m + rows - 1) / rows;
  const std::int64_t steps = (n + kStep - 1) / kStep;
  const std::int64_t step_work = std::max<std::int64_t>(1, std::min(rows, m) * kStep * k);
  const std::int64_t wanted = (kBlocks + row_blocks - 1) / row_blocks;
  const std::int64_t useful = std::max<std::int64_t>(1, steps * step_work / kWork);
  columns = (steps + std::min(wanted, useful) - 1) / std::min(wanted, useful) * kStep;
  column_blocks = (n + columns - 1) / columns;
}

RowsInOrder::RowsInOrder(ConstTensorView given) : rows_(given) {
  if (rows_.direct) return;
  copy_ = gathered(given);
  rows_ = Rows<ConstTensorView>(copy_);
}

void gather(ConstTensorView view, std::int64_t first, std::int64_t rows, std::int64_t column,
            std::int64_t columns, float* to) {
  with_float_type("matmul", view.dtype(), [&]<class T>(T) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const row = view.data<T>() + row_offset(view, first + r) + column * row_stride(view);
      copy_row(row, row_stride(view), columns, to + r * columns, 1);
    }
  });
}

void scatter(const float* from, TensorView view, std::int64_t first, std::int64_t rows, std::int64_t column,
             std::int64_t columns) {
  with_float_type("matmul", view.dtype(), [&]<class T>(T) {
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const row = view.data<T>() + row_offset(view, first + r) + column * row_stride(view);
      copy_row(from + r * columns, 1, columns, row, row_stride(view));
    }
  });
}

}  // namespace attend::detail
