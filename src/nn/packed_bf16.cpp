#include "nn/packed_bf16.h"

#include <algorithm>
#include <optional>

#include "base/rows.h"
#include "base/scratch.h"
#include "kernels/convert/copy_row.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul_bf16.h"
#include "nn/packed_f32.h"
#include "nn/packed_product.h"

namespace attend::detail {
namespace {

using kernels::kPanelColumns, kernels::pair_count;

std::int64_t bytes_of_pairs(std::int64_t k, std::int64_t n) {
  return element_count({kernels::panel_count(n), pair_count(k), kPanelColumns}) *
         static_cast<std::int64_t>(sizeof(std::uint32_t));
}

// Where a number of a panel is, counted in numbers.
std::int64_t place_of(std::int64_t row, std::int64_t column) noexcept {
  return (row / 2 * kPanelColumns + column) * 2 + row % 2;
}

// Depth that is packed together, so that a panel whose columns lie far apart is filled within the first-level
// cache.
constexpr std::int64_t kPairedDepth = 128;

template <Element T>
void pack_pairs_of(const T* w, std::int64_t row_step, std::int64_t column_step, std::int64_t depth,
                   std::int64_t columns, bfloat16* panel) noexcept {
  bfloat16 numbers[kPairedDepth];
  for (std::int64_t first = 0; first < depth; first += kPairedDepth) {
    const std::int64_t count = std::min(kPairedDepth, depth - first);
    for (std::int64_t j = 0; j < columns; ++j) {
      copy_row(w + first * row_step + j * column_step, row_step, count, numbers, 1);
      for (std::int64_t p = 0; p < count; ++p) panel[place_of(first + p, j)] = numbers[p];
    }
  }
}

void pack_pairs(ConstTensorView w, void* memory) {
  kernels::require_isa();
  const std::int64_t k = w.size(0), n = w.size(1);
  if (k == 0 || n == 0) return;
  auto* const data = static_cast<bfloat16*>(memory);
  const std::int64_t size = 2 * pair_count(k) * kPanelColumns;
  with_float_type("matmul", w.dtype(), [&]<class T>(T) {
    const T* const source = w.data<T>();
    parallel_for(kernels::panel_count(n), [&](std::int64_t panel, int) noexcept {
      const std::int64_t first = panel * kPanelColumns, columns = std::min(kPanelColumns, n - first);
      bfloat16* const to = data + panel * size;
      if (columns < kPanelColumns || k % 2 != 0) std::fill_n(to, size, bfloat16{});
      pack_pairs_of(source + first * w.stride(1), w.stride(0), w.stride(1), k, columns, to);
    });
  });
}

void transpose_pairs(const PackedMatrix& w, void* memory) {
  const auto* const from = static_cast<const bfloat16*>(w.memory().raw());
  const std::int64_t size = 2 * pair_count(w.rows()) * kPanelColumns;
  pack_transpose(w.rows(), w.columns(), memory, [&](std::int64_t row, std::int64_t column) noexcept {
    return to_float(from[column / kPanelColumns * size + place_of(row, column % kPanelColumns)]);
  });
}

void round_rows(ConstTensorView view, std::int64_t first, std::int64_t rows, std::int64_t step,
                bfloat16* to) noexcept {
  const std::int64_t k = row_size(view);
  if (k == 0) return;  // there may be no memory to point into
  with_float_type("matmul", view.dtype(), [&]<class T>(T) {
    for (std::int64_t r = 0; r < rows; ++r) {
      copy_row(view.data<T>() + row_offset(view, first + r), row_stride(view), k, to + r * step, 1);
      if (k < step) to[r * step + k] = bfloat16{};
    }
  });
}

// The rows of a tensor as bf16, an even number of elements each, for the blocks of a product: where they lie
// if they are that already; else rounded once, all of them where several blocks of columns read them, and
// block by block where each is read by one.
class Bf16Rows {
 public:
  Bf16Rows(ConstTensorView given, const ProductCut& cut)
      : view_(given), step_(2 * pair_count(row_size(given))), whole_(cut.column_blocks > 1) {
    const ConstTensorView merged = with_merged_rows(given);
    const std::int64_t k = row_size(given);
    direct_ =
        merged.dtype() == DType::bf16 && merged.rank() == 2 && merged.stride(1) == 1 && k > 0 && k % 2 == 0;
    if (direct_) {
      data_ = merged.data<bfloat16>();
      step_ = merged.stride(0);
      return;
    }
    scratch_.emplace(whole_ ? 1 : lanes_for(cut.count()), (whole_ ? cut.m : cut.rows) * step_);
    data_ = scratch_->of(0);
    if (!whole_) return;
    bfloat16* const to = scratch_->of(0);
    const RowChunks chunks(cut.m, k);
    // Below this a second thread would come too late: it takes some microseconds.
    const int lanes = cut.m * k < kFewNumbers ? 1 : lanes_for(chunks.count());
    for_each_row(chunks, lanes,
                 [&](std::int64_t row, int) noexcept { round_rows(view_, row, 1, step_, to + row * step_); });
  }

  const bfloat16* rows_of(const ProductBlock& block) const noexcept {
    if (direct_ || whole_) return step_ > 0 ? data_ + block.row * step_ : nullptr;
    bfloat16* const to = scratch_->of(block.lane);
    round_rows(view_, block.row, block.rows, step_, to);
    return to;
  }
  std::int64_t row_step() const noexcept { return step_; }

 private:
  static constexpr std::int64_t kFewNumbers = 1 << 14;

  ConstTensorView view_;
  std::int64_t step_;
  bool whole_, direct_ = false;
  const bfloat16* data_ = nullptr;
  std::optional<LaneScratch<bfloat16>> scratch_{};
};

// rows_of(block) is where the rows of a block begin, row_step how far apart they are.
template <class RowsOf>
void multiply_blocks(const ProductCut& cut, const PackedMatrix& w, TensorView out,
                     const MatmulEpilogue& epilogue, std::int64_t row_step, const RowsOf& rows_of) {
  const std::int64_t pairs = pair_count(w.rows());
  const auto* const panels = static_cast<const std::uint32_t*>(w.memory().raw());
  for_each_block(cut, out, epilogue,
                 [&](const ProductBlock& at, const kernels::MatmulFinish& finish) noexcept {
                   kernels::MatmulBf16Block block;
                   block.rows = at.rows;
                   block.columns = at.columns;
                   block.depth = w.rows();
                   block.panels = panels + at.column * pairs;
                   if (at.next_column >= 0) block.ahead = panels + at.next_column * pairs;
                   block.finish = finish;
                   kernels::matmul_bf16(rows_of(at), row_step, block);
                 });
}

void multiply_pairs(ConstTensorView a, const PackedMatrix& w, TensorView out,
                    const MatmulEpilogue& epilogue) {
  if (out.count() == 0) return;
  kernels::require_isa();
  const ProductCut cut(row_count(a), w.columns(), w.rows());
  if (kernels::multiplies_bf16()) {
    const Bf16Rows rows(a, cut);
    multiply_blocks(cut, w, out, epilogue, rows.row_step(),
                    [&](const ProductBlock& at) noexcept { return rows.rows_of(at); });
  } else {
    const RowsInOrder rows(a);
    multiply_blocks(
        cut, w, out, epilogue, w.rows() > 0 ? rows.row_step() : 0,
        [&](const ProductBlock& at) noexcept { return w.rows() > 0 ? rows.at(at.row) : nullptr; });
  }
}

}  // namespace

const PackedFormat kPackedBf16{PackedAs::bf16, bytes_of_pairs, pack_pairs, transpose_pairs, multiply_pairs};

}  // namespace attend::detail
