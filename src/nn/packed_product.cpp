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
    : m(m_given), n(n_given), tile_rows(grain.square ? 0 : grain.rows) {
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

ProductShares::ProductShares(const ProductCut& cut, int lanes) {
  // Fewer tiles of rows would read the weights too often for what they multiply.
  constexpr std::int64_t kLeastTiles = 4;
  const std::int64_t step = cut.tile_rows;
  const auto tiles_of = [&](std::int64_t block) {
    return step == 0 ? 1 : (cut.rows_of(block) + step - 1) / step;
  };
  std::int64_t total = 0, done = 0;
  for (std::int64_t block = 0; block < cut.count(); ++block) total += tiles_of(block) * cut.columns_of(block);
  pieces_.reserve(static_cast<std::size_t>(cut.count() + 4 * lanes));
  begins_.reserve(static_cast<std::size_t>(lanes) + 1);
  begins_.push_back(0);

  const auto end_share = [&] {
    if (lanes > 1 && step > 0 && static_cast<std::int64_t>(pieces_.size()) > begins_.back()) {
      const Piece last = pieces_.back();
      const std::int64_t rows = (last.rows / 4 + step - 1) / step * step;
      if (rows >= kLeastTiles * step) {
        pieces_.pop_back();
        for (std::int64_t row = 0; row < last.rows; row += rows)
          pieces_.push_back({last.block, last.first_row + row, std::min(rows, last.rows - row)});
      }
    }
    begins_.push_back(static_cast<std::int64_t>(pieces_.size()));
  };
  for (std::int64_t block = 0; block < cut.count(); ++block) {
    const std::int64_t tiles = tiles_of(block), columns = cut.columns_of(block);
    std::int64_t from = 0;
    const auto add_piece = [&](std::int64_t to) {
      if (from >= to) return;
      const std::int64_t row = from * step;
      pieces_.push_back({block, row, to == tiles ? cut.rows_of(block) - row : (to - from) * step});
      from = to;
    };
    while (static_cast<int>(begins_.size()) < lanes) {
      const std::int64_t left = total * static_cast<std::int64_t>(begins_.size()) / lanes - done;
      if (left > tiles * columns) break;
      const std::int64_t place = (left + columns / 2) / columns;  // the nearest tile
      add_piece(tiles >= 2 * kLeastTiles ? place : 2 * place >= tiles ? tiles : 0);
      end_share();
    }
    add_piece(tiles);
    done += tiles * columns;
  }
  end_share();
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
