#include "nn/packed_bf16.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/rows.h"
#include "base/scratch.h"
#include "kernels/convert/copy_row.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul_bf16.h"
#include "kernels/matmul/pair_panels.h"
#include "kernels/matmul/tile_product.h"
#include "nn/packed_f32.h"
#include "nn/packed_product.h"

namespace attend::detail {
namespace {

using kernels::kPanelColumns, kernels::pair_count, kernels::kRowsOfTile, kernels::kNumbersOfLine;

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

// A matrix in pieces of some rows and columns, for all threads: those of the same rows follow each other, so
// that a thread takes rows that it has just written, as far as the last operation gave it these.
struct Pieces {
  Pieces(std::int64_t all_rows, std::int64_t all_columns, std::int64_t most_rows, std::int64_t most_columns)
      : rows(most_rows),
        columns(most_columns),
        wide((all_columns + columns - 1) / columns),
        count((all_rows + rows - 1) / rows * wide) {}
  std::int64_t row_of(std::int64_t piece) const noexcept { return piece / wide * rows; }
  std::int64_t column_of(std::int64_t piece) const noexcept { return piece % wide * columns; }

  template <class Body>
  void for_each(const Body& body) const {
    parallel_for(count, lanes_for(count), Sharing::neighbours,
                 [&](std::int64_t piece, int) noexcept { body(row_of(piece), column_of(piece)); });
  }
  std::int64_t rows, columns, wide, count;
};

// The whole of a matrix of f32, whose rows or columns lie side by side, by the instructions that multiply it.
void pack_quickly(ConstTensorView w, std::uint32_t* panels) {
  constexpr std::int64_t kFew = 2 * kNumbersOfLine, kMany = 16 * kPanelColumns;
  const std::int64_t k = w.size(0), n = w.size(1), pairs = pair_count(k);
  const auto part = [&](std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
    return kernels::PairPanelsOut{std::min(rows, k - row), std::min(columns, n - column),
                                  panels + column * pairs + row / 2 * kPanelColumns, pairs * kPanelColumns};
  };
  const float* const from = w.data<float>();
  if (w.stride(1) == 1) {
    const std::int64_t step = w.stride(0);
    return Pieces(k, n, kFew, kMany).for_each([&](std::int64_t row, std::int64_t column) noexcept {
      kernels::weave_panels(from + row * step + column, step, part(row, column, kFew, kMany));
    });
  }
  const std::int64_t step = w.stride(1);
  Pieces(n, k, kFew, kMany).for_each([&](std::int64_t column, std::int64_t row) noexcept {
    kernels::turn_panels(from + column * step + row, step, part(row, column, kMany, kFew));
  });
}

void pack_pairs(ConstTensorView w, void* memory) {
  kernels::require_isa();
  const std::int64_t k = w.size(0), n = w.size(1);
  if (k == 0 || n == 0) return;
  if (kernels::multiplies_bf16() && w.dtype() == DType::f32 && (w.stride(0) == 1 || w.stride(1) == 1))
    return pack_quickly(w, static_cast<std::uint32_t*>(memory));
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
    for_each_row(chunks, chunks.lanes(),
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
  ConstTensorView view_;
  std::int64_t step_;
  bool whole_, direct_ = false;
  const bfloat16* data_ = nullptr;
  std::optional<LaneScratch<bfloat16>> scratch_{};
};

// The same as tiles (kernels/matmul/tile_product.h): where they lie if they are whole tiles of bf16; else
// made by each lane for its blocks while few blocks of columns read them, and all of them first where many
// do.
class TileRows {
 public:
  TileRows(ConstTensorView given, const ProductCut& cut)
      : given_(given),
        rows_(given),
        depth_(row_size(given)),
        tile_row_(kernels::tile_row_numbers(depth_)),
        in_place_(lies_in_tiles()),
        whole_(!in_place_ && cut.column_blocks > kFewReaders),
        scratch_(whole_ ? 1 : lanes_for(cut.count()), tile_rows(whole_ ? cut.m : cut.rows) * tile_row_),
        held_(static_cast<std::size_t>(whole_ ? 0 : lanes_for(cut.count())), -1) {
    if (!whole_ || depth_ == 0) return;
    const RowChunks chunks(cut.m, depth_);
    for_each_row(chunks, chunks.lanes(),
                 [&](std::int64_t row, int) noexcept { put(row, row, scratch_.of(0)); });
  }

  kernels::RowTiles rows_of(const ProductBlock& block) noexcept {
    if (in_place_ && block.rows % kernels::kRowsOfTile == 0) {
      const std::int64_t step = rows_.view.stride(0);
      return {rows_.view.data<bfloat16>() + block.row * step, step, kernels::kDepthOfTile,
              kernels::kRowsOfTile * step};
    }
    if (whole_)
      return {.first = scratch_.of(0) + block.row / kernels::kRowsOfTile * tile_row_, .down = tile_row_};
    bfloat16* const to = scratch_.of(block.lane);
    std::int64_t& held = held_[static_cast<std::size_t>(block.lane)];
    if (held != block.row) {
      held = block.row;
      for (std::int64_t r = 0; r < block.rows; ++r) put(block.row + r, r, to);
    }
    return {.first = to, .down = tile_row_};
  }

 private:
  static constexpr std::int64_t kFewReaders = 4;

  static std::int64_t tile_rows(std::int64_t rows) {
    return (rows + kernels::kRowsOfTile - 1) / kernels::kRowsOfTile;
  }

  // Rows that are no lines of the cache would cost two loads each, and those that lie far apart share few
  // places of the first-level cache: at k = 1536 that takes a quarter of the speed, at 384 nothing.
  bool lies_in_tiles() const {
    constexpr std::int64_t kLine = kernels::kDepthOfTile, kMostApart = 512;
    const std::int64_t apart = rows_.short_rows() ? rows_.view.stride(0) : 0;
    return apart > 0 && apart <= kMostApart && apart % kLine == 0 && depth_ > 0 && depth_ % kLine == 0 &&
           reinterpret_cast<std::uintptr_t>(rows_.view.raw()) % (kLine * sizeof(bfloat16)) == 0;
  }

  // A row to its place among the tiles at `to`.
  void put(std::int64_t row, std::int64_t place, bfloat16* to) const noexcept {
    if (depth_ == 0) return;
    bfloat16* const line = to + kernels::line_of_row(place, depth_);
    if (rows_.direct) return kernels::put_in_tiles(rows_.at(row, 0), depth_, line);
    if (rows_.short_rows()) {
      return kernels::put_in_tiles(rows_.view.data<bfloat16>() + row * rows_.view.stride(0), depth_, line);
    }
    constexpr std::int64_t kPiece = 16 * kernels::kDepthOfTile;
    float numbers[kPiece];
    for (std::int64_t i = 0; i < depth_; i += kPiece) {
      const std::int64_t count = std::min(kPiece, depth_ - i);
      gather(given_, row, 1, i, count, numbers);
      kernels::put_in_tiles(numbers, count, line + i * kernels::kRowsOfTile);
    }
  }

  ConstTensorView given_;
  Rows<ConstTensorView> rows_;
  std::int64_t depth_, tile_row_;
  bool in_place_, whole_;
  LaneScratch<bfloat16> scratch_;
  std::vector<std::int64_t> held_;  // the first row of the block whose tiles a lane has, or -1
};

// Calls multiply(at, block), block being a product of panels without its rows.
template <class Multiply>
void multiply_blocks(const ProductCut& cut, const PackedMatrix& w, TensorView out,
                     const MatmulEpilogue& epilogue, const Multiply& multiply) {
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
                   multiply(at, block);
                 });
}

void multiply_pairs(ConstTensorView a, const PackedMatrix& w, TensorView out,
                    const MatmulEpilogue& epilogue) {
  if (out.count() == 0) return;
  kernels::require_isa();
  using kernels::MatmulBf16Block;
  if (kernels::multiplies_tiles()) {
    const ProductCut cut(row_count(a), w.columns(), w.rows(), kTileGrain);
    TileRows rows(a, cut);
    return multiply_blocks(cut, w, out, epilogue,
                           [&](const ProductBlock& at, const MatmulBf16Block& block) noexcept {
                             kernels::matmul_tiles(rows.rows_of(at), block);
                           });
  }
  const ProductCut cut(row_count(a), w.columns(), w.rows());
  if (kernels::multiplies_bf16()) {
    const Bf16Rows rows(a, cut);
    return multiply_blocks(cut, w, out, epilogue,
                           [&](const ProductBlock& at, const MatmulBf16Block& block) noexcept {
                             kernels::matmul_bf16(rows.rows_of(at), rows.row_step(), block);
                           });
  }
  const RowsInOrder rows(a);
  multiply_blocks(cut, w, out, epilogue, [&](const ProductBlock& at, const MatmulBf16Block& block) noexcept {
    const bool empty = w.rows() == 0;  // then there is no memory to point into
    kernels::matmul_bf16(empty ? nullptr : rows.at(at.row), empty ? 0 : rows.row_step(), block);
  });
}

// The rows of x transposed, for the blocks of a product: tiles, or rows that fill whole lines.
class TurnedRows {
 public:
  TurnedRows(std::int64_t rows, std::int64_t depth)
      : rows_(rows), depth_(depth), step_((depth + kNumbersOfLine - 1) / kNumbersOfLine * kNumbersOfLine) {}

  std::int64_t bytes() const noexcept {
    return (rows_ + kRowsOfTile - 1) / kRowsOfTile * kRowsOfTile * step_ *
           static_cast<std::int64_t>(sizeof(bfloat16));
  }
  std::int64_t row_step() const noexcept { return step_; }
  std::int64_t place_of(std::int64_t row) const noexcept { return row * step_; }  // of every 16th row

  // x: (depth, rows)
  void turn(ConstTensorView x, bfloat16* to) const {
    constexpr std::int64_t kDepth = kNumbersOfLine, kRows = 32 * kRowsOfTile;
    const bool tiles = kernels::multiplies_tiles();
    const std::int64_t line = tiles ? kRowsOfTile * kNumbersOfLine : kNumbersOfLine;
    Pieces(depth_, rows_, kDepth, kRows).for_each([&](std::int64_t first, std::int64_t row) noexcept {
      kernels::turn_rows(x.data<float>() + first * x.stride(0) + row, x.stride(0),
                         {.rows = std::min(kRows, rows_ - row),
                          .depth = std::min(kDepth, depth_ - first),
                          .to = to + place_of(row) + first / kNumbersOfLine * line,
                          .sixteen_rows = kRowsOfTile * step_,
                          .row = tiles ? kNumbersOfLine : step_,
                          .line = line});
    });
  }

 private:
  std::int64_t rows_, depth_, step_;
};

}  // namespace

bool multiplies_bf16_numbers() noexcept { return kernels::multiplies_bf16(); }

std::int64_t bytes_over_rows(std::int64_t rows, std::int64_t in, std::int64_t out) {
  return TurnedRows(in, rows).bytes() + bytes_of_pairs(rows, out);
}

void add_product_over_rows(ConstTensorView x, ConstTensorView d, TensorView out, void* memory) {
  const std::int64_t depth = x.size(0), in = x.size(1);
  const TurnedRows turned(in, depth);
  auto* const rows = static_cast<bfloat16*>(memory);
  turned.turn(x, rows);
  const PackedMatrix packed(
      d,
      TensorView(static_cast<char*>(memory) + turned.bytes(), DType::f32,
                 {bytes_of_pairs(depth, d.size(1)) / static_cast<std::int64_t>(sizeof(float))}, {1}),
      PackedAs::bf16);
  const bool tiles = kernels::multiplies_tiles();
  const ProductCut cut(in, d.size(1), depth, tiles ? kTileGrain : kVectorGrain);
  multiply_blocks(cut, packed, out, {.residual = out},
                  [&](const ProductBlock& at, const kernels::MatmulBf16Block& block) noexcept {
                    const bfloat16* const first = rows + turned.place_of(at.row);
                    tiles ? kernels::matmul_tiles({.first = first, .down = kRowsOfTile * turned.row_step()},
                                                  block)
                          : kernels::matmul_bf16(first, turned.row_step(), block);
                  });
}

const PackedFormat kPackedBf16{PackedAs::bf16, bytes_of_pairs, pack_pairs, transpose_pairs, multiply_pairs};

}  // namespace attend::detail
