// One float for each query, or each key, of each query head: what a row needs besides its tensors, and parts
// of sums that end in fewer numbers.
#pragma once

#include <vector>

#include "attention/layout.h"

namespace attend::detail {

class PerHead {
 public:
  PerHead() = default;  // nothing: at() is null
  PerHead(const Layout& layout, std::int64_t SequenceLayout::*length) : heads_(layout.query_heads) {
    std::int64_t total = 0;
    for (const SequenceLayout& sequence : layout.sequences) {
      begins_.push_back(total);
      lengths_.push_back(sequence.*length);
      total += heads_ * sequence.*length;
    }
    values_ = Tensor(DType::f32, {total});
    data_ = values_.values<float>().data();
  }

  float* at(std::int64_t sequence, std::int64_t head) const noexcept {
    if (data_ == nullptr) return nullptr;
    const auto s = static_cast<std::size_t>(sequence);
    return data_ + begins_[s] + head * lengths_[s];
  }

  // add(sequence, head, i, value) for all of them, always in this order.
  template <class Add>
  void for_each(Add add) const {
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(begins_.size()); ++s) {
      for (std::int64_t h = 0; h < heads_; ++h) {
        const float* const row = at(s, h);
        for (std::int64_t i = 0; i < lengths_[static_cast<std::size_t>(s)]; ++i) add(s, h, i, double{row[i]});
      }
    }
  }

 private:
  std::int64_t heads_ = 0;
  std::vector<std::int64_t> begins_, lengths_;
  Tensor values_;
  float* data_ = nullptr;
};

}  // namespace attend::detail
