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
  static constexpr std::int64_t kRows =
      32;  // tens of microseconds of work even for short sequences of small heads

  explicit RowBlocks(const Layout& layout) : layout_(layout) {
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
    const std::int64_t first = within % blocks_of(sequence) * kRows;
    return {found, within / blocks_of(sequence), first, std::min(first + kRows, sequence.queries)};
  }

 private:
  static std::int64_t blocks_of(const SequenceLayout& sequence) noexcept {
    return (sequence.queries + kRows - 1) / kRows;
  }

  const Layout& layout_;
  std::vector<std::int64_t> ends_;
  std::int64_t total_ = 0;
};

}  // namespace attend
