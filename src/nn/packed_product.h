// What the products with packed matrices share, whatever the matrix is packed as: how they are cut into
// blocks, and how tensors of any strides and types become the f32 rows that kernels read and write.
#pragma once

#include <attend/matmul.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/rows.h"
#include "kernels/matmul/finish.h"
#include "nn/row_of.h"

namespace attend::detail {

// Floats rounded up to whole cache lines, so that what follows them begins on one.
inline std::int64_t whole_lines(std::int64_t floats) { return (floats + 15) / 16 * 16; }

// (A, B, L, E) -> (A * B * L, E), so far as the rows are evenly spaced in memory.
template <class View>
View with_merged_rows(View view) {
  while (view.rank() > 2) {
    const int axis = view.rank() - 3;
    if (view.stride(axis) != view.stride(axis + 1) * view.size(axis + 1)) break;
    Dims shape = view.shape().without(axis);
    shape[axis] = view.size(axis) * view.size(axis + 1);
    view = view.with_layout(shape, view.strides().without(axis));
  }
  return view;
}

// What blocks of a product are made of: whole tiles of rows and steps of columns, and at least so many
// multiplications each, which take a core some microseconds. Fewer than `least_rows` rows take as long as
// that many: they wait for the weights.
struct ProductGrain {
  std::int64_t rows, columns, work, least_rows;
  bool square;  // whether reading takes longer than multiplying
};
inline constexpr ProductGrain kVectorGrain{8, 48, 1 << 19, 8, false};
inline constexpr ProductGrain kFloatGrain{8, 48, 1 << 17, 8,
                                          false};  // of f32, whose weights are most to read
inline constexpr ProductGrain kTileGrain{32, 32, 1 << 21, 32, true};  // of AMX, some eight times as quick

// How a product (m, k) (k, n) is cut: by its shape alone. Blocks of rows are equal and whole tiles; columns
// are cut where the blocks of rows are too few to go round, but never so fine that a block takes less than
// microseconds.
struct ProductCut {
  ProductCut(std::int64_t m, std::int64_t n, std::int64_t k, const ProductGrain& grain = kVectorGrain);
  std::int64_t count() const { return row_blocks * column_blocks; }
  // Of a block: blocks come row of blocks after row of blocks.
  std::int64_t rows_of(std::int64_t block) const { return std::min(rows, m - block / column_blocks * rows); }
  std::int64_t columns_of(std::int64_t block) const {
    return std::min(columns, n - block % column_blocks * columns);
  }
  std::int64_t m, n, rows, columns, row_blocks, column_blocks;
  std::int64_t
      tile_rows;  // where a block may be cut by rows; 0: nowhere, because its rows are prepared whole
};

// The blocks of a product as the threads' shares of it, of the same size for each: a block is cut where one
// share ends and the next begins. The last of a share is cut further, so that threads that are late leave
// little to wait for.
class ProductShares {
 public:
  struct Piece {
    std::int64_t block, first_row, rows;  // rows of the block
  };
  ProductShares(const ProductCut& cut, int lanes);
  const Piece& operator[](std::int64_t index) const { return pieces_[static_cast<std::size_t>(index)]; }
  std::int64_t count() const { return begins_.back(); }
  // Where each thread's share begins, and the end.
  std::span<const std::int64_t> begins() const { return begins_; }

 private:
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> begins_;
};

// One block of a product.
struct ProductBlock {
  std::int64_t row, rows, column, columns;
  std::int64_t next_column;  // of the block that this thread will probably take next, or -1
  int lane;                  // of lanes_for(cut.count())
};

// A tensor as rows; those that a kernel can work on where they lie are f32, contiguous and evenly spaced.
template <class View>
struct Rows {
  explicit Rows(View given) : view(with_merged_rows(given)) {
    direct = view.given() && view.dtype() == DType::f32 && view.rank() == 2 &&
             (view.stride(1) == 1 || view.size(1) == 1);
  }
  bool staged() const { return view.given() && !direct; }
  // The same of bf16 numbers.
  bool short_rows() const {
    return view.given() && view.dtype() == DType::bf16 && view.rank() == 2 && view.stride(1) == 1;
  }
  auto* at(std::int64_t row, std::int64_t column) const {
    return view.template data<float>() + row * view.stride(0) + column;
  }
  View view;
  bool direct = false;
};

// Rows [first, first + rows), `columns` of them from `column`, to or from f32 rows side by side.
void gather(ConstTensorView view, std::int64_t first, std::int64_t rows, std::int64_t column,
            std::int64_t columns, float* to);
void scatter(const float* from, TensorView view, std::int64_t first, std::int64_t rows, std::int64_t column,
             std::int64_t columns);

// All of a tensor as f32 rows: where it lies if it can be read there, else a copy, made once because every
// block of columns reads it.
class RowsInOrder {
 public:
  explicit RowsInOrder(ConstTensorView given);
  const float* at(std::int64_t row) const { return rows_.at(row, 0); }
  std::int64_t row_step() const { return rows_.view.stride(0); }

 private:
  Tensor copy_;
  Rows<ConstTensorView> rows_;
};

// Calls multiply(block, finish) for every block of a product, on the library's threads. `finish` has the
// block's bias, residual and out, as f32 wherever those of the caller are not.
template <class Multiply>
void for_each_block(const ProductCut& cut, TensorView out_given, const MatmulEpilogue& epilogue,
                    const Multiply& multiply) {
  const Rows residual(epilogue.residual);
  const Rows out(out_given);
  const bool rounds = out.short_rows();
  const RowOf<float> bias(epilogue.bias);
  const float* const bias_data = bias.data();
  const std::int64_t out_room = whole_lines(cut.rows * cut.columns);
  const bool out_staged = out.staged() && !rounds;
  const std::int64_t room = (residual.staged() ? out_room : 0) + (out_staged ? out_room : 0);
  const int lanes = lanes_for(cut.count());
  Tensor scratch(DType::f32, {lanes, room});
  float* const scratch_data = scratch.values<float>().data();

  const ProductShares shares(cut, lanes);
  parallel_for(shares.begins(), [&](std::int64_t index, int lane) noexcept {
    const ProductShares::Piece& piece = shares[index];
    ProductBlock block;
    block.lane = lane;
    block.row = piece.block / cut.column_blocks * cut.rows + piece.first_row;
    block.rows = piece.rows;
    block.column = piece.block % cut.column_blocks * cut.columns;
    block.columns = cut.columns_of(piece.block);
    const bool last = index + 1 == shares.count();
    block.next_column = last ? -1 : shares[index + 1].block % cut.column_blocks * cut.columns;
    float* const residual_rows = scratch_data + lane * room;
    float* const out_rows = residual_rows + (residual.staged() ? out_room : 0);
    kernels::MatmulFinish finish;
    finish.bias = bias_data != nullptr ? bias_data + block.column : nullptr;
    finish.activation = epilogue.activation;
    if (residual.direct) {
      finish.residual = residual.at(block.row, block.column);
      finish.residual_row = residual.view.stride(0);
    } else if (residual.staged()) {
      gather(residual.view, block.row, block.rows, block.column, block.columns, residual_rows);
      finish.residual = residual_rows;
      finish.residual_row = block.columns;
    }
    finish.out_row = out_staged ? block.columns : out.view.stride(0);
    if (rounds) {
      finish.out_bf16 = out.view.template data<bfloat16>() + block.row * finish.out_row + block.column;
    } else {
      finish.out = out_staged ? out_rows : out.at(block.row, block.column);
    }
    multiply(block, finish);
    if (out_staged) scatter(out_rows, out.view, block.row, block.rows, block.column, block.columns);
  });
}

}  // namespace attend::detail
