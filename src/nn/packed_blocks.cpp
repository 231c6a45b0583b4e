#include "nn/packed_blocks.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/scratch.h"
#include "kernels/blocks/block_products.h"
#include "kernels/blocks/encode_vector.h"
#include "kernels/isa.h"
#include "nn/packed_f32.h"
#include "nn/packed_product.h"

namespace attend::detail {
namespace {

using kernels::kBlockColumns;
using kernels::kBlockDepth;
using kernels::VectorBlock;

// What a packed matrix begins with: how many parts it has, and each of them.
struct BlockPart {
  std::int64_t type = 0, first_column = 0, columns = 0, offset = 0;  // of its panels, in bytes
};
struct BlockParts {
  std::int64_t count = 0, blocks = 0;  // of 32, in a column
  const BlockPart* begin() const { return reinterpret_cast<const BlockPart*>(this + 1); }
  const BlockPart* end() const { return begin() + count; }
  const std::byte* panel(const BlockPart& part, std::int64_t column) const {
    return reinterpret_cast<const std::byte*>(this) + part.offset +
           column / kBlockColumns * kernels::panel_bytes(static_cast<BlockType>(part.type), blocks);
  }
};

std::int64_t header_bytes(std::int64_t parts) {
  return (static_cast<std::int64_t>(sizeof(BlockParts)) +
          parts * static_cast<std::int64_t>(sizeof(BlockPart)) + 63) /
         64 * 64;
}

// Begins a packed matrix, whose panels follow.
void write_parts(std::span<const BlockPart> parts, std::int64_t blocks, void* memory) {
  auto* const header = new (memory) BlockParts{std::ssize(parts), blocks};
  std::uninitialized_copy(parts.begin(), parts.end(), reinterpret_cast<BlockPart*>(header + 1));
}

std::int64_t panels_of(std::int64_t columns) { return (columns + kBlockColumns - 1) / kBlockColumns; }

BlockType type_of(const BlockPart& part) { return static_cast<BlockType>(part.type); }

std::int64_t bytes_as_q8_0(std::int64_t k, std::int64_t n) {
  return header_bytes(1) + panels_of(n) * kernels::panel_bytes(BlockType::q8_0, kernels::blocks_for(k));
}

// Columns [first, first + columns) of w (k, n) as rows of Q8_0, with zeros up to a whole block.
void encode_columns(ConstTensorView w, std::int64_t first, std::int64_t columns, std::byte* rows) {
  const std::int64_t k = w.size(0), depth = kernels::blocks_for(k) * kBlockDepth;
  const Scratch scratch = Scratch::of<float>(depth);
  auto* const numbers = scratch.as<float>();
  std::fill_n(numbers, depth, 0.0f);
  const std::int64_t row_bytes = depth / kBlockDepth * bytes_of(BlockType::q8_0);
  for (std::int64_t j = 0; j < columns; ++j) {
    copy(w.select(1, first + j), TensorView(numbers, Dims{k}));
    kernels::encode_q8_0(numbers, depth, rows + j * row_bytes);
  }
}

// Any matrix of numbers, sixteen columns at a time.
void pack_as_q8_0(ConstTensorView w, void* memory) {
  const std::int64_t k = w.size(0), n = w.size(1), blocks = kernels::blocks_for(k);
  const BlockPart part{static_cast<std::int64_t>(BlockType::q8_0), 0, n, header_bytes(1)};
  write_parts({&part, 1}, blocks, memory);
  auto* const panels = static_cast<std::byte*>(memory) + header_bytes(1);
  const std::int64_t row_bytes = blocks * bytes_of(BlockType::q8_0);
  const std::int64_t panel_bytes = kernels::panel_bytes(BlockType::q8_0, blocks);
  std::vector<std::byte> rows(static_cast<std::size_t>(kBlockColumns * row_bytes));
  for (std::int64_t panel = 0; panel < panels_of(n); ++panel) {
    const std::int64_t first = panel * kBlockColumns, columns = std::min(kBlockColumns, n - first);
    encode_columns(w, first, columns, rows.data());
    kernels::pack_block_panel({BlockType::q8_0, columns, blocks * kBlockDepth, rows.data()}, columns,
                              panels + panel * panel_bytes);
  }
}

const BlockParts& parts_of(const PackedMatrix& w) {
  return *static_cast<const BlockParts*>(w.memory().raw());
}

void transpose_blocks(const PackedMatrix& w, void* memory) {
  const std::int64_t k = w.rows(), n = w.columns();
  if (k == 0 || n == 0) return;
  const BlockParts& all = parts_of(w);
  const std::int64_t depth = all.blocks * kBlockDepth;
  Tensor rows(DType::f32, {n, depth});
  float* const to = rows.values<float>().data();
  for (const BlockPart& part : all) {
    parallel_for(part.columns, [&](std::int64_t column, int) noexcept {
      kernels::decode_panel_column(type_of(part), all.panel(part, column), all.blocks, column % kBlockColumns,
                                   to + (part.first_column + column) * depth);
    });
  }
  kPackedF32.pack(rows.view().slice(1, 0, k), memory);
}

// A product of few rows reads its matrix once and does little else: 64 K products of a chunk are some 40 KB
// of 4-bit numbers, two microseconds.
ProductCut cut_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kChunks = 16, kWork = 1 << 16;
  ProductCut cut(m, n, k);
  const std::int64_t panels = panels_of(n);
  const std::int64_t panel_work = std::max<std::int64_t>(1, std::min(cut.rows, m) * kBlockColumns * k);
  const std::int64_t wanted = (kChunks + cut.row_blocks - 1) / cut.row_blocks;
  const std::int64_t useful = std::clamp<std::int64_t>(panels * panel_work / kWork, 1, wanted);
  cut.columns = std::max<std::int64_t>(1, (panels + useful - 1) / useful) * kBlockColumns;
  cut.column_blocks = (n + cut.columns - 1) / cut.columns;
  return cut;
}

void encode_rows(const RowsInOrder& a, std::int64_t m, std::int64_t k, std::int64_t blocks, VectorBlock* to) {
  for_each_row(
      m, k, [&](std::int64_t row, int) noexcept { kernels::encode_vector(a.at(row), k, to + row * blocks); });
}

// The columns [column, column + columns) of the product, part by part.
void multiply_parts(const BlockParts& all, const VectorBlock* vectors, const ProductBlock& at,
                    const kernels::MatmulFinish& finish) noexcept {
  for (const BlockPart& part : all) {
    const std::int64_t first = std::max(at.column, part.first_column);
    const std::int64_t last = std::min(at.column + at.columns, part.first_column + part.columns);
    if (first >= last) continue;
    const std::int64_t within = first - at.column;
    kernels::MatmulFinish own = finish;
    own.out += within;
    if (own.bias != nullptr) own.bias += within;
    if (own.residual != nullptr) own.residual += within;
    kernels::block_products({.type = type_of(part),
                             .panels = all.panel(part, first - part.first_column),
                             .columns = last - first,
                             .blocks = all.blocks,
                             .vectors = vectors + at.row * all.blocks,
                             .rows = at.rows,
                             .finish = own});
  }
}

void multiply_blocks(ConstTensorView a_given, const PackedMatrix& w, TensorView out,
                     const MatmulEpilogue& epilogue) {
  if (out.count() == 0) return;
  kernels::require_isa();
  const std::int64_t m = row_count(a_given), k = w.rows();
  const RowsInOrder a(a_given);
  const BlockParts& all = parts_of(w);
  const Scratch scratch = Scratch::of<VectorBlock>(m * all.blocks);
  auto* const vectors = scratch.as<VectorBlock>();
  if (k > 0) encode_rows(a, m, k, all.blocks, vectors);
  for_each_block(cut_of(m, w.columns(), k), out, epilogue,
                 [&](const ProductBlock& at, const kernels::MatmulFinish& finish) noexcept {
                   multiply_parts(all, vectors, at, finish);
                 });
}

}  // namespace

const PackedFormat kPackedBlocks{PackedAs::blocks, bytes_as_q8_0, pack_as_q8_0, transpose_blocks,
                                 multiply_blocks};

void check_block_parts(std::span<const BlockView> parts) {
  constexpr const char* kOperation = "PackedMatrix";
  if (parts.empty()) refuse(kOperation, "there are no parts");
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const BlockView& part = parts[p];
    if (part.columns != parts[0].columns)
      refuse(kOperation, "part ", p, " has ", part.columns, " columns, and part 0 has ", parts[0].columns);
    if (part.columns % numbers_of(part.type) != 0) {
      refuse(kOperation, "rows of ", part.columns, " numbers are not whole blocks of ", name_of(part.type));
    }
    if (p + 1 < parts.size() && part.rows % kBlockColumns != 0)
      refuse(kOperation, "part ", p, " has ", part.rows, " rows, expected a multiple of ", kBlockColumns);
  }
}

std::int64_t bytes_of_block_parts(std::span<const BlockView> parts) {
  std::int64_t bytes = header_bytes(std::ssize(parts));
  for (const BlockView& part : parts)
    bytes += panels_of(part.rows) * kernels::panel_bytes(part.type, part.columns / kBlockDepth);
  return bytes;
}

void pack_block_parts(std::span<const BlockView> parts, void* memory) {
  const std::int64_t blocks = parts[0].columns / kBlockDepth;
  std::vector<BlockPart> places;
  std::int64_t column = 0, offset = header_bytes(std::ssize(parts));
  for (const BlockView& part : parts) {
    places.push_back({static_cast<std::int64_t>(part.type), column, part.rows, offset});
    column += part.rows;
    offset += panels_of(part.rows) * kernels::panel_bytes(part.type, blocks);
  }
  write_parts(places, blocks, memory);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const BlockView& part = parts[p];
    auto* const panels = static_cast<std::byte*>(memory) + places[p].offset;
    const std::int64_t bytes = kernels::panel_bytes(part.type, blocks);
    parallel_for(panels_of(part.rows), [&](std::int64_t panel, int) noexcept {
      const std::int64_t first = panel * kBlockColumns;
      BlockView rows = part;
      rows.data = part.row(first);
      kernels::pack_block_panel(rows, std::min(kBlockColumns, part.rows - first), panels + panel * bytes);
    });
  }
}

EncodedRows encoded_rows(ConstTensorView rows) {
  const std::int64_t blocks = rows.size(1) / kBlockDepth;
  EncodedRows encoded;
  encoded.bytes.resize(static_cast<std::size_t>(rows.size(0) * blocks * bytes_of(BlockType::q8_0)));
  encode_columns(rows.transposed(0, 1), 0, rows.size(0), encoded.bytes.data());
  encoded.view = {BlockType::q8_0, rows.size(0), rows.size(1), encoded.bytes.data()};
  return encoded;
}

}  // namespace attend::detail
