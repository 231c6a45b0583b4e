// Where the gradient of a bias is added up. One with an axis of queries and one of keys is added to in
// place, by one unit after another where they share it. One without needs a number per query or per key
// first.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "attention/per_head.h"
#include "attention/staged.h"
#include "kernels/attention/attention_backward.h"

namespace attend::detail {

class BiasGradient {
 public:
  // Strands that share one matrix, each with a copy of its own: so many times its memory, and that many
  // threads.
  static constexpr std::int64_t kMostCopies = 8;

  BiasGradient(const Layout& layout, TensorView target)
      : target_(target),
        sequences_(static_cast<std::int64_t>(layout.sequences.size())),
        heads_(layout.key_heads) {
    strands_ = sequences_ * heads_;
    if (!target.given()) return;
    const BroadcastStrides strides(target);
    if (strides.key == 0) {
      of_query_ = PerHead(layout, &SequenceLayout::queries);
    } else if (strides.query == 0) {
      of_key_ = PerHead(layout, &SequenceLayout::keys);
    } else {
      share_heads_ = strides.head == 0 && heads_ > 1;
      share_sequences_ = strides.sequence == 0 && sequences_ > 1;
      if (share_heads_ && share_sequences_) {
        strands_ = std::min(strands_, kMostCopies);
      } else if (share_heads_ || share_sequences_) {
        strands_ = share_heads_ ? sequences_ : heads_;
      }
      const std::int64_t copies = share_heads_ && share_sequences_ ? strands_ : 1;
      in_place_ = copies == 1 && target.dtype() == DType::f32;
      if (in_place_) {
        const float zero = 0;
        copy(ConstTensorView(&zero, DType::f32, target.shape(), no_strides(target.rank())), target);
      }
      for (std::int64_t copy = in_place_ ? 1 : 0; copy < copies; ++copy) {
        matrices_.emplace_back(DType::f32, target.shape());
      }
    }
  }

  std::int64_t strands() const noexcept { return strands_; }
  std::int64_t strand_of(std::int64_t sequence, std::int64_t key_head) const noexcept {
    const std::int64_t unit = sequence * heads_ + key_head;
    if (share_heads_ && share_sequences_) return unit * strands_ / (sequences_ * heads_);
    return share_heads_ ? sequence : share_sequences_ ? key_head : unit;
  }

  void place(kernels::BackwardHead& head, std::int64_t sequence, std::int64_t query_head,
             std::int64_t key_head) {
    head.bias_of_query = of_query_.at(sequence, query_head);
    head.bias_of_key = of_key_.at(sequence, query_head);
    if ((matrices_.empty() && !in_place_) || target_.count() == 0) return;
    const std::int64_t copy = matrices_.size() > 1 ? strand_of(sequence, key_head) : 0;
    const TensorView matrix = in_place_ ? target_ : matrices_[static_cast<std::size_t>(copy)].view();
    const BroadcastStrides strides(matrix);
    head.bias = matrix.data<float>() + sequence * strides.sequence + query_head * strides.head;
    head.bias_query_stride = strides.query;
    head.bias_key_stride = strides.key;
  }

  void deliver() {
    if (!target_.given() || in_place_) return;
    if (!matrices_.empty()) {
      const auto sum = matrices_.front().values<float>();
      for (std::size_t copy = 1; copy < matrices_.size(); ++copy) {
        const auto part = matrices_[copy].values<float>();
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
      }
      copy(matrices_.front(), target_);
      return;
    }
    Tensor sum(DType::f64, target_.shape());
    const BroadcastStrides strides(sum.view());
    const auto add = [&](std::int64_t s, std::int64_t h, std::int64_t row, double value) {
      sum.values<double>()[static_cast<std::size_t>(s * strides.sequence + h * strides.head + row)] += value;
    };
    of_query_.for_each([&](std::int64_t s, std::int64_t h, std::int64_t i, double value) {
      add(s, h, i * strides.query, value);
    });
    of_key_.for_each([&](std::int64_t s, std::int64_t h, std::int64_t j, double value) {
      add(s, h, j * strides.key, value);
    });
    copy(sum, target_);
  }

 private:
  static Dims no_strides(int rank) {
    return Dims(std::span<const std::int64_t>(std::array<std::int64_t, kMaxRank>{})
                    .first(static_cast<std::size_t>(rank)));
  }

  TensorView target_;
  bool in_place_ = false;
  std::int64_t sequences_ = 0, heads_ = 0, strands_ = 0;
  bool share_heads_ = false, share_sequences_ = false;
  std::vector<Tensor> matrices_;
  PerHead of_query_, of_key_;
};

}  // namespace attend::detail
