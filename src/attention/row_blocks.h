// Cuts the queries of a call into pieces of work. The cut depends on each sequence's own length only, never
// on the threads or on the other sequences, so that neither can change a result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attention/layout.h"

namespace attend::detail {

class RowBlocks {
 public:
  // In which order the blocks of a head come. With a causal mask the last have the most keys, and threads end
  // together when they begin with those.
  enum class Order { first_to_last, last_to_first };

  RowBlocks(const Layout& layout, std::int64_t rows, Order order = Order::first_to_last)
      : layout_(layout), rows_(rows), order_(order) {
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
    const std::int64_t blocks = blocks_of(sequence), place = within % blocks;
    const std::int64_t first = (order_ == Order::first_to_last ? place : blocks - 1 - place) * rows_;
    return {found, within / blocks, first, std::min(first + rows_, sequence.queries)};
  }

  // How many blocks each head has, sequence after sequence.
  template <class Body>
  void for_each_head(Body body) const {
    for (const SequenceLayout& sequence : layout_.sequences) {
      for (std::int64_t h = 0; h < layout_.query_heads; ++h) body(blocks_of(sequence));
    }
  }

 private:
  std::int64_t blocks_of(const SequenceLayout& sequence) const noexcept {
    return (sequence.queries + rows_ - 1) / rows_;
  }

  const Layout& layout_;
  const std::int64_t rows_;
  const Order order_;
  std::vector<std::int64_t> ends_;
  std::int64_t total_ = 0;
};

// Which blocks a thread takes at once: those of a whole head while there are heads enough to go round,
// because its keys and values are then in the thread's own cache after the first of them; single blocks
// towards the end, so that the threads end together.
class BlockRuns {
 public:
  BlockRuns(const RowBlocks& blocks, int lanes) {
    const std::int64_t longest = blocks.count() / (4 * lanes);
    const std::int64_t single_from = blocks.count() - blocks.count() / 4;
    std::int64_t block = 0;
    blocks.for_each_head([&](std::int64_t count) {
      const bool together = lanes > 1 && count <= longest && block + count <= single_from;
      for (std::int64_t i = 0; i < count; i += together ? count : 1) begins_.push_back(block + i);
      block += count;
    });
    begins_.push_back(block);
  }

  std::int64_t count() const noexcept { return static_cast<std::int64_t>(begins_.size()) - 1; }
  std::int64_t begin(std::int64_t run) const noexcept { return begins_[static_cast<std::size_t>(run)]; }
  std::int64_t end(std::int64_t run) const noexcept { return begin(run + 1); }

 private:
  std::vector<std::int64_t> begins_;
};

}  // namespace attend::detail
