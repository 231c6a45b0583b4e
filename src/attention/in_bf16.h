// Which sequences of a call forward multiplies in bf16. What is made from its row states later must start
// from the same scores: each sequence is decided by itself, whatever else is in the batch.
#pragma once

#include <algorithm>
#include <vector>

#include "attention/forward_bf16.h"
#include "attention/kernels.h"

namespace attend::detail {

class InBf16 {
 public:
  InBf16(const Layout& layout, DType query, const AttentionOptions& options) {
    if (!computes_in_bf16(layout)) return;
    for (const SequenceLayout& sequence : layout.sequences) {
      const auto forward = pick_attention_kernel(query, layout, sequence, options).forward;
      sequences_.push_back(forward == forward_bf16 || forward == forward_amx);
    }
  }

  bool any() const noexcept { return std::ranges::find(sequences_, true) != sequences_.end(); }
  bool all() const noexcept { return any() && std::ranges::find(sequences_, false) == sequences_.end(); }
  bool operator[](std::int64_t sequence) const noexcept {
    return !sequences_.empty() && sequences_[static_cast<std::size_t>(sequence)];
  }

 private:
  std::vector<bool> sequences_;
};

}  // namespace attend::detail
