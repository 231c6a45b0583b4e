#include "attention/backward_fused.h"

#include <algorithm>
#include <vector>

#include "attention/backward_chains.h"
#include "attention/backward_pairs.h"
#include "attention/bias_gradient.h"
#include "attention/problem.h"
#include "base/interrupt.h"
#include "base/scratch.h"
#include "kernels/attention/attention_backward.h"
#include "kernels/isa.h"

namespace attend::detail {
namespace {

using kernels::BackwardHead;

void zero_rows(float* rows, std::int64_t stride, std::int64_t first, std::int64_t last,
               std::int64_t n) noexcept {
  if (rows == nullptr) return;
  for (std::int64_t i = first; i < last; ++i) std::fill_n(rows + i * stride, n, 0.0f);
}

class Backward {
 public:
  Backward(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
           const AttentionOptions& options, ConstTensorView out, ConstRowStateView row_state,
           ConstTensorView d_out, const AttentionGradients& gradients)
      : layout_(layout),
        gradients_(gradients),
        pairs_(layout, q, k, v, options, d_out),
        problem_(layout, pairs_.all() ? ConstTensorView() : q, pairs_.all() ? ConstTensorView() : k,
                 pairs_.all() ? ConstTensorView() : v, options),
        out_(out),
        max_(row_state.max),
        sum_(row_state.sum),
        d_out_(pairs_.all() ? ConstTensorView() : d_out),
        d_q_(gradients.q),
        d_k_(gradients.k),
        d_v_(gradients.v),
        base_(layout, &SequenceLayout::queries),
        inverse_(layout, &SequenceLayout::queries),
        delta_(layout, &SequenceLayout::queries),
        bias_(layout, gradients.bias),
        schedule_(layout, shape_of(options), bias_.strands(),
                  [this](std::int64_t s, std::int64_t h) { return bias_.strand_of(s, h); }) {
    if (gradients.alibi_slopes.given()) slope_ = PerHead(layout, &SequenceLayout::queries);
    out_place_ = Placement(out_, layout.packed);
    max_place_ = Placement(max_, layout.packed);
    sum_place_ = Placement(sum_, layout.packed);
    if (gradients.k.given()) k_place_ = Placement(d_k_, layout.packed);
    if (gradients.v.given()) v_place_ = Placement(d_v_, layout.packed);
    make_heads();
  }

  void run() {
    const int lanes = schedule_.lanes();
    const LaneScratch<float> scratch(
        lanes, std::max(kernels::scratch_size_backward(layout_.d, layout_.dv), pairs_.scratch_size()));
    run_backward(schedule_, lanes,
                 [&](const BackwardVisit& now, int lane) noexcept { visit(now, scratch.of(lane)); });
    deliver();
  }

 private:
  // Two tiles a visit: more often would cost more than it evens out. Gradients whose rows are not whole
  // vectors are copied at each visit (gradient_block-inl.h), which is then to be worth it.
  BackwardSchedule::Shape shape_of(const AttentionOptions& options) const {
    const bool whole_lines = layout_.d % 16 == 0 && layout_.dv % 16 == 0;
    return {options.causal, pairs_.tile_queries(), kernels::backward_block_keys(), whole_lines ? 2 : 8};
  }

  void make_heads() {
    const Placement d_out_place = pairs_.all() ? Placement() : Placement(d_out_, layout_.packed);
    const Placement q_place = gradients_.q.given() ? Placement(d_q_, layout_.packed) : Placement();
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(layout_.sequences.size()); ++s) {
      const std::int64_t row = problem_.sequence(s).query_begin;
      for (std::int64_t h = 0; h < layout_.query_heads; ++h) {
        BackwardHead& head = heads_.emplace_back();
        head.head = problem_.head(s, h);
        head.d_out = d_out_.at(d_out_place.offset(s, row, h));
        head.d_out_stride = layout_.dv == 0 ? 0 : d_out_place.row_stride;
        head.rows = {base_.at(s, h), inverse_.at(s, h), delta_.at(s, h)};
        head.q = d_q_.at(q_place.offset(s, row, h));
        head.q_stride = q_place.row_stride;
        head.slope = slope_.at(s, h);
        bias_.place(head, s, h, problem_.key_head(h));
      }
    }
  }

  template <class T>
  std::span<const T> group_of(const BackwardUnit& unit, const std::vector<T>& heads) const noexcept {
    const std::int64_t count = layout_.query_heads / layout_.key_heads;
    return {heads.data() + unit.sequence * layout_.query_heads + unit.key_head * count,
            static_cast<std::size_t>(count)};
  }

  // What each row needs, and zeros where its gradient will be added up.
  void prepare(const BackwardVisit& now) const noexcept {
    const BackwardUnit& unit = now.unit;
    const std::int64_t s = unit.sequence, h = unit.key_head * unit.heads + now.head;
    const std::int64_t row = problem_.sequence(s).query_begin;
    const std::int64_t first = now.first_tile * unit.tile_queries;
    const std::int64_t last = std::min(now.end_tile * unit.tile_queries, unit.queries);
    const auto index = static_cast<std::size_t>(s * layout_.query_heads + h);
    const BackwardHead& head = heads_[index];
    kernels::HeadOutput<const float> forward;
    forward.out = out_.at(out_place_.offset(s, row, h));
    forward.out_stride = layout_.dv == 0 ? 0 : out_place_.row_stride;
    forward.max = max_.at(max_place_.offset(s, row, h));
    forward.sum = sum_.at(sum_place_.offset(s, row, h));
    forward.max_stride = max_place_.row_stride;
    forward.sum_stride = sum_place_.row_stride;
    if (pairs_.take(s)) {
      kernels::backward_rows_bf16(head, pairs_.heads()[index], forward, first, last);
    } else {
      kernels::backward_rows(head, forward, first, last);
    }
    zero_rows(head.q, head.q_stride, first, last, layout_.d);
  }

  void visit(const BackwardVisit& now, float* scratch) const noexcept {
    const BackwardUnit& unit = now.unit;
    const std::span<const BackwardHead> group = group_of(unit, heads_);
    const SequenceLayout& at = problem_.sequence(unit.sequence);
    kernels::KeyGradients target;
    target.k = d_k_.at(k_place_.offset(unit.sequence, at.key_begin, unit.key_head));
    target.v = d_v_.at(v_place_.offset(unit.sequence, at.key_begin, unit.key_head));
    target.k_stride = k_place_.row_stride;
    target.v_stride = layout_.dv == 0 ? 0 : v_place_.row_stride;

    const kernels::KeyRange keys = unit.keys(now.part);
    if (now.opens) {  // together with the keys that do not exist
      const std::int64_t last = now.part == unit.parts - 1 ? at.keys : keys.end;
      zero_rows(target.k, target.k_stride, keys.begin, last, layout_.d);
      zero_rows(target.v, target.v_stride, keys.begin, last, layout_.dv);
    }
    if (now.part == 0) prepare(now);
    const std::int64_t first = now.head * unit.tiles + now.first_tile;
    const std::int64_t last = now.head * unit.tiles + now.end_tile;
    if (first == last) return;
    const std::int64_t block = kernels::backward_block_keys();
    for (std::int64_t begin = keys.begin; begin < keys.end && !abandoned(); begin += block) {
      const kernels::KeyRange range{begin, std::min(begin + block, keys.end)};
      if (pairs_.take(unit.sequence)) {
        pairs_.kernel()(group, group_of(unit, pairs_.heads()), first, last, range, target, scratch);
      } else {
        kernels::attention_backward(group, first, last, range, target, scratch);
      }
    }
  }

  void deliver() {
    d_q_.deliver();
    d_k_.deliver();
    d_v_.deliver();
    bias_.deliver();
    std::vector<double> sums(static_cast<std::size_t>(layout_.query_heads));
    if (gradients_.alibi_slopes.given()) {
      slope_.for_each([&](std::int64_t, std::int64_t h, std::int64_t, double value) {
        sums[static_cast<std::size_t>(h)] += value;
      });
      copy(ConstTensorView(sums.data(), {layout_.query_heads}), gradients_.alibi_slopes);
    }
    if (gradients_.sinks.given()) {
      std::ranges::fill(sums, 0);
      for (std::size_t i = 0; i < heads_.size(); ++i) {
        sums[i % sums.size()] += kernels::backward_sink(heads_[i]);
      }
      copy(ConstTensorView(sums.data(), {layout_.query_heads}), gradients_.sinks);
    }
  }

  const Layout& layout_;
  const AttentionGradients& gradients_;
  const BackwardPairs pairs_;
  const Problem<float> problem_;
  const StagedInput<float> out_, max_, sum_, d_out_;
  const StagedOutput<float> d_q_, d_k_, d_v_;
  const PerHead base_, inverse_, delta_;
  PerHead slope_;
  BiasGradient bias_;
  const BackwardSchedule schedule_;
  Placement k_place_, v_place_, out_place_, max_place_, sum_place_;
  std::vector<BackwardHead> heads_;  // (sequences, query heads)
};

}  // namespace

void backward_fused(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                    const AttentionOptions& options, ConstTensorView out, ConstRowStateView row_state,
                    ConstTensorView d_out, const AttentionGradients& gradients) {
  kernels::require_isa();
  Backward(layout, q, k, v, options, out, row_state, d_out, gradients).run();
}

}  // namespace attend::detail
