#include "text/trie.h"

#include <algorithm>

namespace attend::text {

class TrieBuilder {
 public:
  using Keys = std::vector<std::pair<std::string_view, std::int32_t>>;

  TrieBuilder(std::vector<Trie::Cell>& cells, const Keys& keys) : cells_(cells), keys_(keys) {}

  void build() {
    cells_.assign(1, Trie::Cell{});
    next_.assign(1, 0);
    previous_.assign(1, 0);
    grow(512);
    take(Trie::kRoot, -1);
    std::vector<Range> pending{{Trie::kRoot, 0, keys_.size(), 0}};
    while (!pending.empty()) {
      const Range range = pending.back();
      pending.pop_back();
      place_children(range, pending);
    }
    // A step may look at 256 cells after a base.
    cells_.resize(static_cast<std::size_t>(used_) + 257);
    cells_.shrink_to_fit();
  }

 private:
  // The keys first..last-1, which agree in their first `depth` bytes, below a node.
  struct Range {
    std::int32_t node;
    std::size_t first, last, depth;
  };
  struct Child {
    unsigned char byte;
    std::size_t first, last;
  };

  void place_children(Range range, std::vector<Range>& pending) {
    if (keys_[range.first].first.size() == range.depth) {  // the shortest key is first
      cell(range.node).value = keys_[range.first].second;
      if (++range.first == range.last) return;
    }
    children_.clear();
    for (std::size_t i = range.first; i < range.last; ++i) {
      const auto byte = static_cast<unsigned char>(keys_[i].first[range.depth]);
      if (children_.empty() || children_.back().byte != byte) children_.push_back({byte, i, i});
      children_.back().last = i + 1;
    }
    const std::int32_t base = find_base();
    cell(range.node).base = base;
    for (const Child& child : children_) {
      const std::int32_t at = base + child.byte;
      take(at, range.node);
      pending.push_back({at, child.first, child.last, range.depth + 1});
    }
  }

  // The first places where all children fit. After some failures after everything, so that a file made to be
  // slow is not.
  std::int32_t find_base() {
    constexpr int kTries = 64;
    const std::int32_t lowest = children_.front().byte;
    std::int32_t at = next_[0];
    for (int i = 0; i < kTries && at != 0; ++i, at = next_[static_cast<std::size_t>(at)]) {
      const std::int32_t base = at - lowest;
      if (base >= 1 && fits(base)) return base;
    }
    const std::int32_t base = std::max(1, used_ - lowest);
    const auto highest = static_cast<std::size_t>(base) + children_.back().byte;
    if (highest >= cells_.size()) grow(highest + 512);
    return base;
  }

  bool fits(std::int32_t base) {
    const auto highest = static_cast<std::size_t>(base) + children_.back().byte;
    if (highest >= cells_.size()) grow(highest + 512);
    return std::all_of(children_.begin(), children_.end(),
                       [&](const Child& child) { return cell(base + child.byte).parent == -2; });
  }

  // Free cells form a ring through cell 0, in rising order.
  void grow(std::size_t size) {
    for (std::size_t at = cells_.size(); at < size; ++at) {
      const auto last = static_cast<std::size_t>(previous_[0]);
      cells_.emplace_back();
      next_.push_back(0);
      previous_.push_back(static_cast<std::int32_t>(last));
      next_[last] = static_cast<std::int32_t>(at);
      previous_[0] = static_cast<std::int32_t>(at);
    }
  }

  void take(std::int32_t at, std::int32_t parent) {
    cell(at).parent = parent;
    used_ = std::max(used_, at + 1);
    const auto i = static_cast<std::size_t>(at);
    if (i == 0) return;
    next_[static_cast<std::size_t>(previous_[i])] = next_[i];
    previous_[static_cast<std::size_t>(next_[i])] = previous_[i];
  }

  Trie::Cell& cell(std::int32_t at) { return cells_[static_cast<std::size_t>(at)]; }

  std::vector<Trie::Cell>& cells_;
  const Keys& keys_;
  std::vector<std::int32_t> next_, previous_;
  std::vector<Child> children_;
  std::int32_t used_ = 0;  // one past the last cell that is taken
};

Trie::Trie(std::vector<std::pair<std::string_view, std::int32_t>> keys) {
  std::sort(keys.begin(), keys.end());
  if (keys.empty()) {
    cells_.resize(257);
    return;
  }
  TrieBuilder(cells_, keys).build();
}

}  // namespace attend::text
