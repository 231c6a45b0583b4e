#include "attention/forward_bf16.h"

#include "attention/bf16_operands.h"
#include "attention/problem.h"
#include "attention/row_blocks.h"
#include "base/interrupt.h"
#include "base/scratch.h"
#include "kernels/attention/attention_amx.h"
#include "kernels/attention/attention_bf16.h"
#include "kernels/convert/copy_row.h"
#include "kernels/isa.h"

namespace attend::detail {
namespace {

// A tile's rows come out in f32 and go where they belong in the type of the output: 16-bit results need no
// copy of their size.
class TileOutputs {
 public:
  TileOutputs(const Layout& layout, TensorView out, RowStateView row_state)
      : layout_(layout),
        out_(out),
        row_state_(row_state),
        place_(out, layout.packed),
        direct_(out.dtype() == DType::f32 && rows_side_by_side(out)) {
    if (!row_state.max.given()) return;
    max_place_ = Placement(row_state.max, layout.packed);
    sum_place_ = Placement(row_state.sum, layout.packed);
  }

  // How many floats `room` must have for a tile of `rows` rows.
  std::int64_t room(std::int64_t rows) const noexcept { return direct_ ? 0 : rows * layout_.dv; }

  kernels::HeadOutput<float> tile(std::int64_t s, std::int64_t h, std::int64_t first, float* room) const {
    const std::int64_t row = first_row(s) + first;
    kernels::HeadOutput<float> target;
    target.out = direct_ ? out_.data<float>() + place_.offset(s, row, h) : room;
    target.out_stride = direct_ ? place_.row_stride : layout_.dv;
    if (row_state_.max.given()) {
      target.max = row_state_.max.data<float>() + max_place_.offset(s, row, h);
      target.sum = row_state_.sum.data<float>() + sum_place_.offset(s, row, h);
      target.max_stride = max_place_.row_stride;
      target.sum_stride = sum_place_.row_stride;
    }
    return target;
  }

  void deliver(std::int64_t s, std::int64_t h, std::int64_t first, std::int64_t rows,
               const float* room) const {
    if (direct_) return;
    const std::int64_t stride = row_stride(out_);
    with_float_type("attention", out_.dtype(), [&]<class To>(To) {
      To* const to = out_.data<To>() + place_.offset(s, first_row(s) + first, h);
      // Rows that follow each other are one: calls cost more than the arithmetic of a short row.
      if (stride == 1 && place_.row_stride == layout_.dv) {
        return copy_row(room, 1, rows * layout_.dv, to, 1);
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        copy_row(room + i * layout_.dv, 1, layout_.dv, to + i * place_.row_stride, stride);
      }
    });
  }

 private:
  std::int64_t first_row(std::int64_t s) const noexcept {
    return layout_.sequences[static_cast<std::size_t>(s)].query_begin;
  }

  const Layout& layout_;
  const TensorView out_;
  const RowStateView row_state_;
  const Placement place_;
  Placement max_place_, sum_place_;
  const bool direct_;
};

std::int64_t whole_lines(std::int64_t floats) { return (floats + 15) / 16 * 16; }

// What the driver below needs of a kernel's arithmetic.
struct ByPairs {
  static constexpr std::int64_t kKeySize = 2;  // that rows of keys are a multiple of
  static std::int64_t most_queries() { return kernels::bf16_tile_queries(); }
  static Weaving weaving(std::int64_t dv) { return {.columns = dv}; }
  static constexpr auto tile_queries = kernels::bf16_tile_queries;
  static constexpr auto scratch_size = kernels::scratch_size_bf16;
  static constexpr auto forward = kernels::attention_bf16;
};

struct ByTiles {
  static constexpr std::int64_t kKeySize = 1;
  static constexpr auto most_queries = kernels::amx_most_queries;
  static Weaving weaving(std::int64_t dv) { return {kernels::weave_amx, kernels::amx_columns(dv)}; }
  static constexpr auto tile_queries = kernels::amx_tile_queries;
  static constexpr auto scratch_size = kernels::scratch_size_amx;
  static constexpr auto forward = kernels::attention_amx;
};

// As many tiles of queries together as leave each thread something to do, and enough to end with the others.
template <class Kernel>
std::int64_t block_queries(const Layout& layout) {
  constexpr std::int64_t kBlocksOfAThread = 4;
  std::int64_t rows = Kernel::tile_queries();
  while (2 * rows <= Kernel::most_queries()) {
    const std::int64_t blocks = RowBlocks(layout, 2 * rows).count();
    if (blocks < kBlocksOfAThread * lanes_for(blocks)) break;
    rows *= 2;
  }
  return rows;
}

template <class Kernel>
void forward_rounded(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                     const AttentionOptions& options, TensorView out, RowStateView row_state) {
  const std::int64_t tile_rows = block_queries<Kernel>(layout);
  const RowBlocks blocks(layout, tile_rows,
                         options.causal ? RowBlocks::Order::last_to_first : RowBlocks::Order::first_to_last);
  if (blocks.count() == 0) return;
  const Problem<float> problem(layout, {}, {}, {}, options);
  const bool alone = layout.longest_keys <= OwnHeads::kMostKeys;
  const Rounding rounding = alone ? Rounding::on_request : Rounding::at_once;
  const Bf16Rows queries(q, layout.packed, 2, Rounding::on_request),
      keys(k, layout.packed, Kernel::kKeySize, rounding), rows(v, layout.packed, 1, rounding);
  WovenRows values(layout, rows, layout.dv, Kernel::weaving(layout.dv));
  const TileOutputs outputs(layout, out, row_state);

  // One piece of scratch for all: a thread keeps one for its next call.
  const int lanes = lanes_for(blocks.count());
  OwnHeads own_heads(layout, keys, rows, values, lanes);
  const std::int64_t kernel_room = whole_lines(Kernel::scratch_size(layout.d, layout.dv));
  const std::int64_t out_room = whole_lines(outputs.room(tile_rows));
  const std::int64_t query_room = whole_lines((queries.room(tile_rows) + 1) / 2);
  const std::int64_t lane_room =
      kernel_room + out_room + query_room + (alone ? whole_lines(own_heads.room()) : 0);
  const std::int64_t woven_room = alone ? 0 : whole_lines(values.size());
  const Scratch scratch = Scratch::of<float>(woven_room + lanes * lane_room);
  if (!alone) values.weave_into(scratch.as<std::int32_t>());

  const BlockRuns runs(blocks, lanes);
  parallel_for(runs.count(), lanes, [&](std::int64_t run, int lane) noexcept {
    float* const room = scratch.as<float>() + woven_room + lane * lane_room;
    float* const out_rows = room + kernel_room;
    auto* const query_rows = reinterpret_cast<std::uint16_t*>(out_rows + out_room);
    float* const own = out_rows + out_room + query_room;
    for (std::int64_t index = runs.begin(run); index < runs.end(run) && !abandoned(); ++index) {
      const auto [s, h, first, last] = blocks[index];
      const SequenceLayout& at = problem.sequence(s);
      const std::int64_t key_head = problem.key_head(h);
      const OwnHeads::Head head =
          alone ? own_heads.of(s, key_head, lane, own)
                : OwnHeads::Head{keys.rows_of(s, at.key_begin, key_head), values.of(s, key_head)};
      const kernels::HeadBf16 scored{
          problem.head(s, h),
          queries.some_rows(s, at.query_begin + first, h, last - first, query_rows),
          head.k,
          queries.row_stride(),
          keys.row_stride(),
          first};
      Kernel::forward(scored, head.values, first, last, outputs.tile(s, h, first, out_rows), room);
      outputs.deliver(s, h, first, last - first, out_rows);
    }
  });
}

}  // namespace

bool computes_in_bf16(const Layout& layout) {
  if (layout.precision != Precision::bf16) return false;
  kernels::require_isa();
  return kernels::has_attention_bf16();
}

bool computes_in_tiles(const Layout& layout) {
  return computes_in_bf16(layout) && kernels::has_attention_amx();
}

void forward_bf16(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  const AttentionOptions& options, TensorView out, RowStateView row_state) {
  forward_rounded<ByPairs>(layout, q, k, v, options, out, row_state);
}

void forward_amx(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                 const AttentionOptions& options, TensorView out, RowStateView row_state) {
  forward_rounded<ByTiles>(layout, q, k, v, options, out, row_state);
}

}  // namespace attend::detail
