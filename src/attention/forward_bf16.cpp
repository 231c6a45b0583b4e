#include "attention/forward_bf16.h"

#include "attention/bf16_operands.h"
#include "attention/problem.h"
#include "attention/row_blocks.h"
#include "base/interrupt.h"
#include "base/scratch.h"
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

}  // namespace

bool computes_in_bf16(const Layout& layout) {
  if (layout.precision != Precision::bf16) return false;
  kernels::require_isa();
  return kernels::has_attention_bf16();
}

void forward_bf16(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                  const AttentionOptions& options, TensorView out, RowStateView row_state) {
  const std::int64_t tile_rows = kernels::bf16_tile_queries();
  const RowBlocks blocks(layout, tile_rows);
  if (blocks.count() == 0) return;
  const Problem<float> problem(layout, {}, {}, {}, options);
  const Bf16Rows queries(q, layout.packed, true), keys(k, layout.packed, true), rows(v, layout.packed, false);
  WovenRows values(layout, rows, layout.dv);
  const TileOutputs outputs(layout, out, row_state);

  // One piece of scratch for all: a thread keeps one for its next call.
  const int lanes = lanes_for(blocks.count());
  const std::int64_t kernel_room = whole_lines(kernels::scratch_size_bf16(layout.d, layout.dv));
  const std::int64_t lane_room = kernel_room + whole_lines(outputs.room(tile_rows));
  const std::int64_t woven_room = whole_lines(values.size());
  const Scratch scratch = Scratch::of<float>(woven_room + lanes * lane_room);
  values.weave_into(scratch.as<std::int32_t>());

  const BlockRuns runs(blocks, lanes);
  parallel_for(runs.count(), lanes, [&](std::int64_t run, int lane) noexcept {
    float* const room = scratch.as<float>() + woven_room + lane * lane_room;
    for (std::int64_t index = runs.begin(run); index < runs.end(run) && !abandoned(); ++index) {
      const auto [s, h, first, last] = blocks[index];
      const SequenceLayout& at = problem.sequence(s);
      const kernels::HeadBf16 head{problem.head(s, h), queries.rows_of(s, at.query_begin, h),
                                   keys.rows_of(s, at.key_begin, problem.key_head(h)), queries.row_stride(),
                                   keys.row_stride()};
      kernels::attention_bf16(head, values.of(s, problem.key_head(h)), first, last,
                              outputs.tile(s, h, first, room + kernel_room), room);
      outputs.deliver(s, h, first, last - first, room + kernel_room);
    }
  });
}

}  // namespace attend::detail
