// Strings to numbers: a double array, walked byte by byte with one look at memory each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::text {

class Trie {
 public:
  using Node = std::int32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = -1;

  Trie() : cells_(257) {}

  // The keys in any order, none twice, with values of at least 0.
  explicit Trie(std::vector<std::pair<std::string_view, std::int32_t>> keys);

  // From a node along one byte, or along several: kNone where no key goes that way.
  Node step(Node node, char byte) const {
    const auto at = static_cast<std::size_t>(cells_[static_cast<std::size_t>(node)].base) +
                    static_cast<unsigned char>(byte);
    return cells_[at].parent == node ? static_cast<Node>(at) : kNone;
  }
  Node walk(Node node, std::string_view bytes) const {
    for (std::size_t i = 0; i < bytes.size() && node != kNone; ++i) node = step(node, bytes[i]);
    return node;
  }

  // The value of the key that ends at this node, or -1.
  std::int32_t value(Node node) const { return cells_[static_cast<std::size_t>(node)].value; }

  std::int32_t find(std::string_view key) const {
    const Node node = walk(kRoot, key);
    return node == kNone ? -1 : value(node);
  }

 private:
  friend class TrieBuilder;
  struct Cell {
    std::int32_t base = 1;     // where the children are: base + byte
    std::int32_t parent = -2;  // -2: a free cell
    std::int32_t value = -1;
  };
  std::vector<Cell> cells_;  // 256 more than are used, so that a step needs no check of bounds
};

}  // namespace attend::text
