// Pairs of tokens that BPE merges, with the rank of the merge and the token it makes.
#pragma once

#include <cstdint>
#include <vector>

namespace attend::text {

class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank = kNever;
    std::int32_t id = -1;
  };
  static constexpr std::uint32_t kNever = UINT32_MAX;

  MergeTable() : MergeTable(0) {}
  explicit MergeTable(std::size_t count) {
    std::size_t size = 16;
    while (size < 2 * count) size *= 2;
    slots_.resize(size);
    mask_ = size - 1;
  }

  // A pair that is there already gets the new rank. Not more pairs than the constructor was told of.
  void insert(std::int32_t left, std::int32_t right, Merge merge) {
    const std::uint64_t pair = key(left, right);
    std::size_t at = place(pair);
    while (slots_[at].pair != pair && slots_[at].pair != kEmpty) at = (at + 1) & mask_;
    slots_[at] = {pair, merge};
  }

  Merge find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t pair = key(left, right);
    for (std::size_t at = place(pair);; at = (at + 1) & mask_) {
      if (slots_[at].pair == pair) return slots_[at].merge;
      if (slots_[at].pair == kEmpty) return {};
    }
  }

 private:
  static constexpr std::uint64_t kEmpty = UINT64_MAX;
  struct Slot {
    std::uint64_t pair = kEmpty;
    Merge merge;
  };
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t place(std::uint64_t pair) const {
    return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15) >> 29) & mask_;
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

}  // namespace attend::text
