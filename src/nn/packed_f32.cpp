#include "nn/packed_f32.h"

#include <algorithm>
#include <type_traits>

#include "base/rows.h"
#include "kernels/convert/copy_row.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul.h"
#include "nn/row_of.h"

namespace attend::detail {
namespace {

using kernels::kMatmulRows;
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

// How the product is cut: by its shape alone. Blocks of rows are equal and whole tiles; columns are cut where
// the blocks of rows are too few to go round, but never so fine that a block takes less than microseconds.
struct Cut {
  Cut(std::int64_t m, std::int64_t n, std::int64_t k) {
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
  std::int64_t count() const { return row_blocks * column_blocks; }
  std::int64_t rows, columns, row_blocks, column_blocks;
};

// A tensor as rows; those that the kernel can work on where they lie are f32, contiguous and evenly spaced.
template <class View>
struct Rows {
  explicit Rows(View given) : view(with_merged_rows(given)) {
    direct = view.given() && view.dtype() == DType::f32 && view.rank() == 2 &&
             (view.stride(1) == 1 || view.size(1) == 1);
  }
  bool staged() const { return view.given() && !direct; }
  auto* at(std::int64_t row, std::int64_t column) const {
    return view.template data<float>() + row * view.stride(0) + column;
  }
  View view;
  bool direct = false;
};

// Rows [first, first + rows), `columns` of them from `column`, to or from f32 rows side by side.
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

// All of it as f32 rows side by side.
Tensor gathered(ConstTensorView view) {
  const std::int64_t rows = row_count(view), columns = row_size(view);
  Tensor copy(DType::f32, {rows, columns});
  float* const to = copy.values<float>().data();
  for_each_row(rows, columns,
               [&](std::int64_t row, int) noexcept { gather(view, row, 1, 0, columns, to + row * columns); });
  return copy;
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
  const std::int64_t k = w.rows(), n = w.columns();
  if (k == 0 || n == 0) return;
  const auto* const from = static_cast<const float*>(w.memory().raw());
  auto* const to = static_cast<float*>(memory);
  // Squares of 16 by 16, each within one panel here and there: 1 KiB, so that both stay in the first-level
  // cache.
  parallel_for(kernels::panel_count(k), [&](std::int64_t panel, int) noexcept {
    const std::int64_t first = panel * kPanelColumns, rows = std::min(kPanelColumns, k - first);
    if (rows < kPanelColumns) std::fill_n(to + panel * n * kPanelColumns, n * kPanelColumns, 0.0F);
    for (std::int64_t column = 0; column < n; ++column) {
      const std::int64_t source = column / kPanelColumns * k + first;
      for (std::int64_t row = 0; row < rows; ++row) {
        to[(panel * n + column) * kPanelColumns + row] =
            from[(source + row) * kPanelColumns + column % kPanelColumns];
      }
    }
  });
}

void multiply_panels(ConstTensorView a_given, const PackedMatrix& w, TensorView out_given,
                     const MatmulEpilogue& epilogue) {
  if (out_given.count() == 0) return;
  kernels::require_isa();
  const Rows given(a_given), residual(epilogue.residual);
  // Every block of columns reads all of a, so it is brought into order once; residual and out block by block.
  const Tensor copied = given.direct ? Tensor() : gathered(a_given);
  const Rows a = given.direct ? given : Rows(ConstTensorView(copied));
  const Rows<TensorView> out(out_given);
  const std::int64_t m = row_count(a_given), n = w.columns(), k = w.rows();
  const Cut cut(m, n, k);
  const auto* const panels = static_cast<const float*>(w.memory().raw());
  const RowOf<float> bias(epilogue.bias);
  const float* const bias_data = bias.data();

  const std::int64_t out_room = whole_lines(cut.rows * cut.columns);
  const std::int64_t room = (residual.staged() ? out_room : 0) + (out.staged() ? out_room : 0);
  const int lanes = lanes_for(cut.count());
  Tensor scratch(DType::f32, {lanes, room});
  float* const scratch_data = scratch.values<float>().data();

  parallel_for(cut.count(), lanes, [&](std::int64_t index, int lane) noexcept {
    const std::int64_t first = index / cut.column_blocks * cut.rows;
    const std::int64_t column = index % cut.column_blocks * cut.columns;
    float* const residual_rows = scratch_data + lane * room;
    float* const out_rows = residual_rows + (residual.staged() ? out_room : 0);
    kernels::MatmulBlock block;
    block.rows = std::min(cut.rows, m - first);
    block.columns = std::min(cut.columns, n - column);
    block.depth = k;
    block.panels = panels + column * k;
    if (index + lanes < cut.count()) {  // the others take those in between
      block.ahead = panels + (index + lanes) % cut.column_blocks * cut.columns * k;
    }
    block.bias = bias_data != nullptr ? bias_data + column : nullptr;
    block.activation = epilogue.activation;
    if (k > 0) {  // else there is no memory to point into
      block.a = a.at(first, 0);
      block.a_row = a.view.stride(0);
    }
    if (residual.direct) {
      block.residual = residual.at(first, column);
      block.residual_row = residual.view.stride(0);
    } else if (residual.staged()) {
      gather(residual.view, first, block.rows, column, block.columns, residual_rows);
      block.residual = residual_rows;
      block.residual_row = block.columns;
    }
    block.out = out.direct ? out.at(first, column) : out_rows;
    block.out_row = out.direct ? out.view.stride(0) : block.columns;
    kernels::matmul(block);
    if (out.staged()) scatter(out_rows, out.view, first, block.rows, column, block.columns);
  });
}

}  // namespace

const PackedFormat kPackedF32{PackedAs::f32, bytes_of_panels, pack_panels, transpose_panels, multiply_panels};

}  // namespace attend::detail
