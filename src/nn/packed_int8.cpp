#include "nn/packed_int8.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/rows.h"
#include "base/scratch.h"
#include "kernels/convert/copy_row.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/tile_product.h"
#include "kernels/matmul_int8/matmul_int8.h"
#include "nn/packed_f32.h"
#include "nn/packed_product.h"

namespace attend::detail {
namespace {

using kernels::group_count, kernels::kInt8Group, kernels::kPanelColumns, kernels::panel_count;

// Where the parts of a packed matrix are.
struct Int8Layout {
  Int8Layout(std::int64_t k, std::int64_t n)
      : groups(group_count(k)),
        panel_bytes(kernels::int8_panel_bytes(groups)),
        columns(panel_count(n) * kPanelColumns) {}
  std::int64_t scales() const { return columns / kPanelColumns * panel_bytes; }
  std::int64_t sums() const { return scales() + columns * static_cast<std::int64_t>(sizeof(float)); }
  std::int64_t bytes() const { return sums() + columns * static_cast<std::int64_t>(sizeof(float)); }
  // Of a number, in the panels.
  std::int64_t place(std::int64_t row, std::int64_t column) const {
    return column / kPanelColumns * panel_bytes + kernels::int8_line(row / kInt8Group) +
           column % kPanelColumns * kInt8Group + row % kInt8Group;
  }
  // Of the scale of its block.
  std::int64_t scale_place(std::int64_t row, std::int64_t column) const {
    return column / kPanelColumns * panel_bytes + kernels::int8_scales_line(row / kInt8Group, groups) +
           column % kPanelColumns * static_cast<std::int64_t>(sizeof(float));
  }
  std::int64_t groups, panel_bytes, columns;
};

std::int64_t bytes_of_int8(std::int64_t k, std::int64_t n) {
  // Throws when it is too much. The scales of blocks take less than as much again.
  element_count({panel_count(n), group_count(k), 2 * kernels::kInt8Line});
  return Int8Layout(k, n).bytes();
}

// Adding and taking away 1.5 * 2^52 rounds to a whole number, to even halfway.
double rounded(double x) {
  constexpr double kRound = 6755399441055744.0;
  return x + kRound - kRound;
}

// Whole numbers between -127 and 127. The scale of a column makes its largest 127; that of a block, which is
// relative to it, the largest of the block. A column with a NaN or an infinity has a scale of NaN, so that
// all that comes of it is NaN.
void pack_column(const float* from, std::int64_t k, std::int64_t column, const Int8Layout& layout,
                 std::int8_t* panels, float& scale, float& sum) {
  const auto largest_of = [&](std::int64_t first, std::int64_t last) {
    float largest = 0;
    for (std::int64_t i = first; i < last; ++i) largest = std::max(largest, std::abs(from[i]));
    return largest;
  };
  float wrong = 0;
  for (std::int64_t i = 0; i < k; ++i) wrong += from[i] - from[i];
  scale = wrong == 0 ? largest_of(0, k) / 127 : std::numeric_limits<float>::quiet_NaN();
  sum = 0;
  if (!(scale > 0)) return;
  double scaled_sum = 0;
  for (std::int64_t first = 0; first < k; first += kernels::kInt8BlockDepth) {
    const std::int64_t last = std::min(first + kernels::kInt8BlockDepth, k);
    const auto share =
        static_cast<float>(static_cast<double>(largest_of(first, last) / 127) / static_cast<double>(scale));
    std::memcpy(panels + layout.scale_place(first, column), &share, sizeof(share));
    const double step = static_cast<double>(share) * static_cast<double>(scale);
    std::int32_t whole_sum = 0;
    for (std::int64_t i = first; i < last && step > 0; ++i) {
      // A subnormal scale is coarse: the quotient may pass 127.
      const auto q =
          static_cast<std::int32_t>(std::clamp(rounded(static_cast<double>(from[i]) / step), -127.0, 127.0));
      panels[layout.place(i, column)] = static_cast<std::int8_t>(q);
      whole_sum += q;
    }
    scaled_sum += static_cast<double>(share) * whole_sum;
  }
  sum = static_cast<float>(scaled_sum);
}

void pack_int8(ConstTensorView w, void* memory) {
  kernels::require_isa();
  const std::int64_t k = w.size(0), n = w.size(1);
  const Int8Layout layout(k, n);
  auto* const panels = static_cast<std::int8_t*>(memory);
  auto* const scales = reinterpret_cast<float*>(panels + layout.scales());
  auto* const sums = reinterpret_cast<float*>(panels + layout.sums());
  std::fill_n(scales, layout.columns, 0.0F);
  std::fill_n(sums, layout.columns, 0.0F);
  if (k == 0 || n == 0) return;
  const int lanes = lanes_for(panel_count(n));
  const LaneScratch<float> scratch(lanes, k);
  with_float_type("matmul", w.dtype(), [&]<class T>(T) {
    const T* const source = w.data<T>();
    parallel_for(panel_count(n), lanes, [&](std::int64_t panel, int lane) noexcept {
      std::fill_n(panels + panel * layout.panel_bytes, layout.panel_bytes, std::int8_t{0});
      const std::int64_t first = panel * kPanelColumns, last = std::min(first + kPanelColumns, n);
      for (std::int64_t j = first; j < last; ++j) {
        copy_row(source + j * w.stride(1), w.stride(0), k, scratch.of(lane), 1);
        pack_column(scratch.of(lane), k, j, layout, panels, scales[j], sums[j]);
      }
    });
  });
}

void transpose_int8(const PackedMatrix& w, void* memory) {
  const Int8Layout layout(w.rows(), w.columns());
  const auto* const panels = static_cast<const std::int8_t*>(w.memory().raw());
  const auto* const scales = reinterpret_cast<const float*>(panels + layout.scales());
  pack_transpose(w.rows(), w.columns(), memory, [&](std::int64_t row, std::int64_t column) noexcept {
    float share = 0;
    std::memcpy(&share, panels + layout.scale_place(row, column), sizeof(share));
    return static_cast<float>(panels[layout.place(row, column)]) * (share * scales[column]);
  });
}

// The rows of a tensor as whole numbers for the blocks of a product, each row made once: all of them first
// where several blocks of columns read them, else block by block, while they are in the cache.
class Int8Rows {
 public:
  Int8Rows(ConstTensorView given, const ProductCut& cut, kernels::Int8Form form)
      : rows_(given),
        form_(form),
        depth_(row_size(given)),
        row_bytes_(kernels::int8_row_bytes(depth_, form)),
        whole_(cut.column_blocks > 1),
        numbers_(whole_ ? 1 : lanes_for(cut.count()), rows_read(whole_ ? cut.m : cut.rows) * row_bytes_),
        scales_(whole_ ? 1 : lanes_for(cut.count()),
                (whole_ ? cut.m : cut.rows) * static_cast<std::int64_t>(sizeof(kernels::Int8Row))) {
    if (!whole_) return;
    const RowChunks chunks(cut.m, depth_);
    for_each_row(chunks, chunks.lanes(), [&](std::int64_t row, int) noexcept {
      quantise(row, 1, numbers_.of(0) + row * row_bytes_, scales_of(0) + row);
    });
  }

  // Fills in what a block has of them.
  void give(const ProductBlock& at, kernels::Int8Block& block) const noexcept {
    const std::int64_t first = whole_ ? at.row : 0;
    const int lane = whole_ ? 0 : at.lane;
    std::int8_t* const numbers = numbers_.of(lane) + first * row_bytes_;
    kernels::Int8Row* const scales = scales_of(lane) + first;
    if (!whole_) quantise(at.row, at.rows, numbers, scales);
    block.a = numbers;
    block.a_row = row_bytes_;
    block.a_scales = scales;
  }

 private:
  static std::int64_t rows_read(std::int64_t rows) {
    return (rows + kernels::kInt8RowsRead - 1) / kernels::kInt8RowsRead * kernels::kInt8RowsRead;
  }

  void quantise(std::int64_t first, std::int64_t rows, std::int8_t* to,
                kernels::Int8Row* scales) const noexcept {
    const float* const from = depth_ > 0 ? rows_.at(first) : nullptr;  // no memory to point into
    kernels::quantise_rows(from, depth_ > 0 ? rows_.row_step() : 0, rows, depth_, form_, to, scales);
  }

  kernels::Int8Row* scales_of(int lane) const noexcept {
    return reinterpret_cast<kernels::Int8Row*>(scales_.of(lane));
  }

  RowsInOrder rows_;
  kernels::Int8Form form_;
  std::int64_t depth_, row_bytes_;
  bool whole_;
  LaneScratch<std::int8_t> numbers_;
  LaneScratch<std::int8_t> scales_;
};

void multiply_int8(ConstTensorView a, const PackedMatrix& w, TensorView out, const MatmulEpilogue& epilogue) {
  if (out.count() == 0) return;
  kernels::require_isa();
  const kernels::Int8Kernel& kernel = kernels::int8_kernel();
  const ProductCut cut(row_count(a), w.columns(), w.rows(),
                       kernels::multiplies_tiles() ? kTileGrain : kVectorGrain);
  const Int8Layout layout(w.rows(), w.columns());
  const Int8Rows rows(a, cut, kernel.form);
  const auto* const panels = static_cast<const std::int8_t*>(w.memory().raw());
  const std::int64_t column_bytes = layout.panel_bytes / kPanelColumns;
  for_each_block(cut, out, epilogue,
                 [&](const ProductBlock& at, const kernels::MatmulFinish& finish) noexcept {
                   kernels::Int8Block block;
                   block.rows = at.rows;
                   block.columns = at.columns;
                   block.groups = group_count(w.rows());
                   rows.give(at, block);
                   block.panels = panels + at.column * column_bytes;
                   if (at.next_column >= 0) block.ahead = panels + at.next_column * column_bytes;
                   block.b_scales = reinterpret_cast<const float*>(panels + layout.scales()) + at.column;
                   block.b_sums = reinterpret_cast<const float*>(panels + layout.sums()) + at.column;
                   block.finish = finish;
                   kernels::matmul_int8(block);
                 });
}

}  // namespace

const PackedFormat kPackedInt8{PackedAs::int8, bytes_of_int8, pack_int8, transpose_int8, multiply_int8};

}  // namespace attend::detail
