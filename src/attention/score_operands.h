// Queries and keys of weights on demand: heads of f32, or of bf16 where forward multiplied bf16, sequence by
// sequence.
#pragma once

#include <optional>
#include <utility>

#include "attention/bf16_operands.h"
#include "attention/in_bf16.h"
#include "attention/problem.h"

namespace attend::detail {

class ScoreOperands {
 public:
  ScoreOperands(const Layout& layout, ConstTensorView q, ConstTensorView k, const AttentionOptions& options)
      : in_bf16_(layout, q.dtype(), options),
        problem_(layout, in_bf16_.all() ? ConstTensorView() : q, in_bf16_.all() ? ConstTensorView() : k, {},
                 options) {
    if (!in_bf16_.any()) return;
    q_.emplace(q, layout.packed, 2);
    k_.emplace(k, layout.packed, 2);
  }

  const SequenceLayout& sequence(std::int64_t s) const { return problem_.sequence(s); }

  // body(head), of either kind.
  template <class Body>
  void with_head(std::int64_t s, std::int64_t h, const Body& body) const {
    if (!in_bf16_[s]) return body(problem_.head(s, h));
    const SequenceLayout& at = sequence(s);
    body(kernels::HeadBf16{problem_.head(s, h), q_->rows_of(s, at.query_begin, h),
                           k_->rows_of(s, at.key_begin, problem_.key_head(h)), q_->row_stride(),
                           k_->row_stride()});
  }

 private:
  const InBf16 in_bf16_;
  const Problem<float> problem_;
  std::optional<Bf16Rows> q_, k_;
};

class ReferenceOperands {
 public:
  ReferenceOperands(const Layout& layout, ConstTensorView q, ConstTensorView k,
                    const AttentionOptions& options)
      : problem_(layout, q, k, {}, options) {}

  const SequenceLayout& sequence(std::int64_t s) const { return problem_.sequence(s); }
  template <class Body>
  void with_head(std::int64_t s, std::int64_t h, const Body& body) const {
    body(problem_.head(s, h));
  }

 private:
  const Problem<double> problem_;
};

}  // namespace attend::detail
