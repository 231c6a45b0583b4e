// What the backward pass of a call multiplies in bf16: the sequences that forward did, with all that their
// heads read.
#pragma once

#include <optional>
#include <vector>

#include "attention/bf16_operands.h"
#include "attention/in_bf16.h"
#include "attention/problem.h"
#include "base/scratch.h"
#include "kernels/attention/attention_backward_amx.h"
#include "kernels/attention/attention_backward_bf16.h"

namespace attend::detail {

class BackwardPairs {
 public:
  BackwardPairs(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                const AttentionOptions& options, ConstTensorView d_out)
      : layout_(layout), in_bf16_(layout, q.dtype(), options), in_tiles_(computes_in_tiles(layout)) {
    if (!in_bf16_.any()) return;
    operands_.emplace(layout, q, k, v, d_out, in_tiles_);
    const Problem<float> problem(layout, {}, {}, {}, options);
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(layout.sequences.size()); ++s) {
      for (std::int64_t h = 0; h < layout.query_heads; ++h) heads_.push_back(operands_->head(problem, s, h));
    }
  }
  BackwardPairs(const BackwardPairs&) = delete;
  BackwardPairs& operator=(const BackwardPairs&) = delete;

  // Of all sequences, and of one.
  bool all() const noexcept { return in_bf16_.all(); }
  bool take(std::int64_t sequence) const noexcept { return in_bf16_[sequence]; }

  std::int64_t scratch_size() const noexcept {
    if (!in_bf16_.any()) return 0;
    return in_tiles_ ? kernels::scratch_size_backward_amx(layout_.d, layout_.dv)
                     : kernels::scratch_size_backward_bf16(layout_.d, layout_.dv);
  }
  // Of all sequences of the call: those that are not multiplied in bf16 have a tile of queries at most.
  std::int64_t tile_queries() const noexcept {
    if (!in_bf16_.any()) return kernels::backward_tile_queries();
    return in_tiles_ ? kernels::backward_amx_tile_queries() : kernels::backward_bf16_tile_queries();
  }
  auto kernel() const noexcept {
    return in_tiles_ ? kernels::attention_backward_amx : kernels::attention_backward_bf16;
  }
  const std::vector<kernels::BackwardOperands>& heads() const noexcept { return heads_; }  // as Backward's

 private:
  struct Operands {
    const Bf16Rows q, k, v, d_out;
    WovenRows woven;
    const Scratch memory;

    Operands(const Layout& layout, ConstTensorView query, ConstTensorView key, ConstTensorView value,
             ConstTensorView d_output, bool in_tiles)
        : q(query, layout.packed, 2),
          k(key, layout.packed, 2),
          v(value, layout.packed, 2),
          d_out(d_output, layout.packed, 2),
          woven(layout, k, layout.d,
                in_tiles ? Weaving{kernels::weave_amx, kernels::amx_columns(layout.d)}
                         : Weaving{.columns = layout.d}),
          memory(Scratch::of<float>(woven.size())) {
      woven.weave_into(memory.as<std::int32_t>());
    }

    kernels::BackwardOperands head(const Problem<float>& problem, std::int64_t s, std::int64_t h) const {
      const SequenceLayout& at = problem.sequence(s);
      const std::int64_t key_head = problem.key_head(h);
      return {{problem.head(s, h), q.rows_of(s, at.query_begin, h), k.rows_of(s, at.key_begin, key_head),
               q.row_stride(), k.row_stride()},
              v.rows_of(s, at.key_begin, key_head),
              d_out.rows_of(s, at.query_begin, h),
              v.row_stride(),
              d_out.row_stride(),
              woven.of(s, key_head)};
    }
  };

  const Layout& layout_;
  const InBf16 in_bf16_;
  const bool in_tiles_;
  std::optional<Operands> operands_;
  std::vector<kernels::BackwardOperands> heads_;
};

}  // namespace attend::detail
