// Cuts the queries of a call into pieces of work. The cut depends on each sequence's own length only, never
// on the threads or on the other sequences, so that neither can change a result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attention/layout.h"

namespace attend {

class RowBlocks {
 public:
  RowBlocks(const Layout& layout, std::int64_t rows) : layout_(layout), rows_(rows) {
    ends_.reserve(layout.sequences.size());
    for (const SequenceLayout& sequence : layout.sequences) {
      total_ += layout.query_heads * blocks_of(sequence);
      ends_.push_back(total_);
    }
  }

  struct Block {
    std::int64_t sequence, head, first, last;
  };

  std::int64_t count() const noexcept { return total_; }

  Block operator[](std::int64_t index) const noexcept {
    const auto found = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
    const SequenceLayout& sequence = layout_.sequences[static_cast<std::size_t>(found)];
    const std::int64_t within = index - (found == 0 ? 0 : ends_[static_cast<std::size_t>(found - 1)]);
    const std::int64_t first = within % blocks_of(sequence) * rows_;
    return {found, within / blocks_of(sequence), first, std::min(first + rows_, sequence.queries)};
  }

 private:
  std::int64_t blocks_of(const SequenceLayout& sequence) const noexcept {
    return (sequence.queries + rows_ - 1) / rows_;
  }

  const Layout& layout_;
  const std::int64_t rows_;
  std::vector<std::int64_t> ends_;
  std::int64_t total_ = 0;
};

}  // namespace attend
