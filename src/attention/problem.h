// A checked attention call, ready for a kernel: hands out one head of one sequence at a time, as raw
// pointers.
#pragma once

#include "attention/layout.h"
#include "attention/staged.h"
#include "kernels/attention/head.h"

namespace attend::detail {

// Where row 0 of (sequence, head) is, in elements, for a tensor laid out as q, k, v, out or a row state are.
struct Placement {
  std::int64_t sequence_stride = 0, head_stride = 0, row_stride = 0;

  Placement() = default;
  template <class Staged>
  Placement(const Staged& tensor, bool packed)
      : sequence_stride(packed ? 0 : tensor.stride(0)),
        head_stride(tensor.stride(1)),
        row_stride(packed ? tensor.stride(0) : tensor.stride(2)) {}

  std::int64_t offset(std::int64_t sequence, std::int64_t first_row, std::int64_t head) const noexcept {
    return sequence * sequence_stride + first_row * row_stride + head * head_stride;
  }
};

// Keeps references to layout and options: they must outlive it. q, k and v may be not given: their
// heads are then null.
template <Element T>
class Problem {
 public:
  Problem(const Layout& layout, ConstTensorView q, ConstTensorView k, ConstTensorView v,
          const AttentionOptions& options)
      : layout_(layout),
        options_(options),
        q_(q),
        k_(k),
        v_(v),
        bias_(options.bias),
        mask_strides_(options.mask) {
    if (q.given()) q_place_ = Placement(q_, layout.packed);
    if (k.given()) k_place_ = Placement(k_, layout.packed);
    if (v.given()) v_place_ = Placement(v_, layout.packed);
  }

  const SequenceLayout& sequence(std::int64_t s) const {
    return layout_.sequences[static_cast<std::size_t>(s)];
  }
  std::int64_t key_head(std::int64_t h) const { return h / (layout_.query_heads / layout_.key_heads); }
  const BroadcastStrides& bias_strides() const { return bias_.strides(); }

  kernels::Head<T> head(std::int64_t s, std::int64_t h) const {
    const SequenceLayout& at = sequence(s);
    kernels::Head<T> head;
    head.queries = at.queries;
    head.keys = at.keys;
    head.d = layout_.d;
    head.dv = layout_.dv;
    head.q = q_.at(q_place_.offset(s, at.query_begin, h));
    head.k = k_.at(k_place_.offset(s, at.key_begin, key_head(h)));
    head.v = v_.at(v_place_.offset(s, at.key_begin, key_head(h)));
    head.q_stride = q_place_.row_stride;
    head.k_stride = k_place_.row_stride;
    head.v_stride = layout_.dv == 0 ? 0 : v_place_.row_stride;  // no values: null + 0

    head.scale = static_cast<T>(layout_.scale);
    head.softcap = static_cast<T>(options_.softcap);
    head.visible = {at.key_count, at.query_offset, options_.causal, layout_.window.left,
                    layout_.window.right};
    if (options_.mask.raw() != nullptr) {
      head.mask = static_cast<const std::uint8_t*>(options_.mask.raw()) + s * mask_strides_.sequence +
                  h * mask_strides_.head;
      head.mask_query_stride = mask_strides_.query;
      head.mask_key_stride = mask_strides_.key;
    }
    if (bias_.data() != nullptr) {
      head.bias = bias_.data() + s * bias_strides().sequence + h * bias_strides().head;
      head.bias_query_stride = bias_strides().query;
      head.bias_key_stride = bias_strides().key;
    }
    const auto index = static_cast<std::size_t>(h);
    if (!options_.alibi_slopes.empty()) head.alibi_slope = static_cast<T>(options_.alibi_slopes[index]);
    if (!options_.sinks.empty()) head.sink = static_cast<T>(options_.sinks[index]);
    if (options_.dropout != 0) {
      head.dropout = DropoutStream(options_.dropout, options_.dropout_seed, static_cast<std::uint64_t>(s),
                                   static_cast<std::uint64_t>(h));
      head.kept = static_cast<T>(1 / (1 - options_.dropout));
    }
    return head;
  }

 private:
  const Layout& layout_;
  const AttentionOptions& options_;
  StagedInput<T> q_, k_, v_;
  StagedBias<T> bias_;
  BroadcastStrides mask_strides_;
  Placement q_place_, k_place_, v_place_;
};

}  // namespace attend::detail
