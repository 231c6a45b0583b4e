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

ProductCut::ProductCut(std::int64_t m_given, std::int64_t n_given, std::int64_t k, const ProductGrain& grain)
    : m(m_given), n(n_given) {
  // Six blocks for each of 16 threads: one that comes late, or is slower, leaves some to the others.
  constexpr std::int64_t kBlocks = 96, kLeastRows = 32;
  const auto parts = [](std::int64_t size, std::int64_t part) { return (size + part - 1) / part; };
  const std::int64_t steps = parts(n, grain.columns);
  const std::int64_t work =
      std::max<std::int64_t>(1, std::max(m, grain.least_rows) * steps * grain.columns * k);
  const std::int64_t useful = std::clamp<std::int64_t>(work / grain.work, 1, kBlocks);
  const auto cut_by = [&](std::int64_t most_rows) {
    row_blocks = parts(m, most_rows);
    rows = std::min(most_rows, parts(parts(m, row_blocks), grain.rows) * grain.rows);
    row_blocks = parts(m, rows);
    columns = parts(steps, std::min(steps, parts(useful, row_blocks))) * grain.columns;
    column_blocks = parts(n, columns);
  };
  // Long blocks read the weights less often. But narrow matrices have too few columns to share; and where a
  // block takes no longer than what it reads from other cores, a square one reads least.
  std::int64_t most_rows = kernels::kMatmulRows;
  cut_by(most_rows);
  while (most_rows > kLeastRows && (count() < useful / 2 || (grain.square && columns < rows))) {
    most_rows /= 2;
    cut_by(most_rows);
  }
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
