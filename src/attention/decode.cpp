#include "attention/decode.h"

#include <algorithm>
#include <array>
#include <vector>

#include "attention/outputs.h"
#include "attention/stored.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/attention/attention_decode.h"
#include "kernels/isa.h"

namespace attend::detail {
namespace {

// How a call is cut: for each sequence, key heads x panels of rows x blocks of keys. The rows of a key head
// are the queries of the first query head that shares it, then those of the next. Everything follows from the
// sequence's own lengths.
class DecodePlan {
 public:
  struct Sequence {
    kernels::KeyRange keys;  // that some query sees
    std::int64_t first_block = 0, blocks = 0;
    std::int64_t rows = 0, panels = 0;
    std::int64_t tasks_end = 0;    // of all sequences up to this one
    std::int64_t first_piece = 0;  // a piece: what one block gives one row
  };
  struct Task {
    std::int64_t sequence, key_head, panel, block;
  };

  DecodePlan(const Layout& layout, const Problem<float>& problem) {
    const std::int64_t group = layout.query_heads / layout.key_heads;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(layout.sequences.size()); ++s) {
      Sequence plan;
      const std::int64_t queries = problem.sequence(s).queries;
      plan.rows = group * queries;
      if (queries > 0) {
        // Ranges move with the query, so the first one's begin and the last one's end enclose them all.
        const kernels::Visibility visible = problem.head(s, 0).visible;
        plan.keys = {visible.keys_of(0).begin, visible.keys_of(queries - 1).end};
      }
      if (plan.keys.begin < plan.keys.end) {
        plan.first_block = plan.keys.begin / kernels::kDecodeBlock;
        plan.blocks = (plan.keys.end - 1) / kernels::kDecodeBlock + 1 - plan.first_block;
      }
      plan.panels = (plan.rows + kernels::kDecodeRows - 1) / kernels::kDecodeRows;
      plan.first_piece = pieces_;
      pieces_ += layout.key_heads * plan.blocks * plan.rows;
      tasks_ += layout.key_heads * plan.blocks * plan.panels;
      plan.tasks_end = tasks_;
      sequences_.push_back(plan);
    }
  }

  std::int64_t tasks() const noexcept { return tasks_; }
  std::int64_t pieces() const noexcept { return pieces_; }
  const Sequence& operator[](std::int64_t s) const noexcept {
    return sequences_[static_cast<std::size_t>(s)];
  }

  // Blocks of one head follow each other, as they do in memory.
  Task task(std::int64_t index) const noexcept {
    const auto found = std::upper_bound(
        sequences_.begin(), sequences_.end(), index,
        [](std::int64_t value, const Sequence& sequence) { return value < sequence.tasks_end; });
    const std::int64_t s = found - sequences_.begin();
    const std::int64_t within = index - (s == 0 ? 0 : (*this)[s - 1].tasks_end);
    const std::int64_t panels = found->panels, blocks = found->blocks;
    return {s, within / (panels * blocks), within / blocks % panels, within % blocks};
  }

  // The piece of row 0; the other rows follow.
  std::int64_t piece(std::int64_t s, std::int64_t key_head, std::int64_t block) const noexcept {
    const Sequence& plan = (*this)[s];
    return plan.first_piece + (key_head * plan.blocks + block) * plan.rows;
  }

 private:
  std::vector<Sequence> sequences_;
  std::int64_t tasks_ = 0, pieces_ = 0;
};

}  // namespace

void forward_decode(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                    const AttentionOptions& options, TensorView out, RowStateView row_state) {
  kernels::require_isa();
  if (layout.query_heads == 0 || layout.sequences.empty()) return;
  const Problem<float> problem(layout, q, {}, {}, options);
  const StoredRows keys(k, layout.packed), values(v, layout.packed);
  const Outputs<float> outputs(layout, out, row_state);
  const DecodePlan plan(layout, problem);
  const std::int64_t group = layout.query_heads / layout.key_heads;

  Tensor o(DType::f32, {plan.pieces(), layout.dv});
  std::vector<kernels::RowNumbers> states(static_cast<std::size_t>(plan.pieces()));
  float* const o_data = o.values<float>().data();
  const int lanes = lanes_for(plan.tasks());
  const LaneScratch<float> scratch(lanes, kernels::scratch_size_decode(layout.d, layout.dv));

  parallel_for(plan.tasks(), lanes, [&](std::int64_t index, int lane) noexcept {
    const auto [s, key_head, panel, block] = plan.task(index);
    const DecodePlan::Sequence& sequence = plan[s];
    const std::int64_t queries = problem.sequence(s).queries;
    const std::int64_t first = panel * kernels::kDecodeRows;
    const std::int64_t last = std::min(first + kernels::kDecodeRows, sequence.rows);
    std::array<kernels::Head<float>, kernels::kDecodeRows> heads;
    std::array<kernels::DecodeRow, kernels::kDecodeRows> rows;
    const std::int64_t first_head = first / queries;
    for (std::int64_t row = first; row < last; ++row) {
      kernels::Head<float>& head = heads[static_cast<std::size_t>(row / queries - first_head)];
      if (row == first || row % queries == 0) head = problem.head(s, key_head * group + row / queries);
      rows[static_cast<std::size_t>(row - first)] = {&head, row % queries};
    }
    const std::int64_t key_begin = problem.sequence(s).key_begin;
    const kernels::StoredKeys stored{keys.dtype(),
                                     layout.int8_rows,
                                     keys.rows_of(s, key_begin, key_head),
                                     values.rows_of(s, key_begin, key_head),
                                     keys.row_stride(),
                                     values.row_stride()};
    const std::int64_t begin = (sequence.first_block + block) * kernels::kDecodeBlock;
    const kernels::KeyRange range{std::max(begin, sequence.keys.begin),
                                  std::min(begin + kernels::kDecodeBlock, sequence.keys.end)};
    const std::int64_t piece = plan.piece(s, key_head, block) + first;
    kernels::attention_decode(stored, rows.data(), last - first, range, o_data + piece * layout.dv,
                              states.data() + piece, scratch.of(lane));
  });

  const auto sequences = static_cast<std::int64_t>(layout.sequences.size());
  parallel_for(sequences * layout.query_heads, [&](std::int64_t index, int) noexcept {
    const std::int64_t s = index / layout.query_heads, h = index % layout.query_heads;
    const DecodePlan::Sequence& sequence = plan[s];
    const kernels::HeadOutput<float> target = outputs.head(s, h);
    const float sink = problem.head(s, h).sink;
    for (std::int64_t query = 0; query < problem.sequence(s).queries; ++query) {
      // Without keys there are no pieces, and perhaps no memory for any.
      const std::int64_t piece = sequence.blocks == 0 ? 0
                                                      : plan.piece(s, h / group, 0) +
                                                            h % group * problem.sequence(s).queries + query;
      kernels::RowNumbers row;
      kernels::finish_decode(sequence.blocks, o_data + piece * layout.dv, sequence.rows * layout.dv,
                             states.data() + piece, sequence.rows, sink, layout.dv,
                             target.out + query * target.out_stride, row);
      target.set_state(query, static_cast<float>(row.max), static_cast<float>(row.sum));
    }
  });
  outputs.deliver();
}

}  // namespace attend::detail
