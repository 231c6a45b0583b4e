// Any rectangle of a map between tokens, from queries, keys and row states: what tiles are made of.
#pragma once

#include <attend/lens.h>

#include <span>
#include <vector>

namespace attend::lens {

inline constexpr std::int64_t kBlockNumbers = std::int64_t{1} << 22;  // weights that exist at the same time

// Tokens, or units, [first, last).
struct Range {
  std::int64_t first = 0, last = 0;
  std::int64_t size() const noexcept { return last - first; }
};

// The weights of one head (of all, where none is given), for some queries and keys: (heads, rows, keys).
Tensor weights_between(const Reading& reading, std::int64_t layer, std::optional<std::int64_t> head_index,
                       Range rows, Range keys);

// For raw and norm. What norm needs besides weights (how long each token's value is in a head, and what a row
// adds up to) is computed at its first use and kept: O(n H²) per layer.
class LensBlocks {
 public:
  LensBlocks(const Reading& reading, const LensQuery& query);

  // Writes (rows, keys), f32, within fp32 noise of lens_map().
  void fill(Range rows, Range keys, std::span<float> out);

  std::size_t bytes() const noexcept;

 private:
  struct Layer {
    std::int64_t number = 0;
    // Of one head, (n): the lengths of its projected values. Of all, (pairs of heads h >= g, n): their
    // products, twice where the heads differ, so that |sum over h of w_h f_h|² is a sum over pairs.
    std::vector<float> products{};
    std::vector<float> sums{};  // (n): of a row over all keys; negative: not known yet
  };
  void fill_some(Range rows, Range keys, std::span<float> out);
  void prepare(Layer& layer) const;
  void require_sums(Layer& layer, Range rows);
  void add(Layer& layer, Range rows, Range keys, std::span<float> out);

  const Reading& reading_;
  const LensMethod method_;
  const std::optional<std::int64_t> head_index_;
  std::vector<Layer> layers_;
};

}  // namespace attend::lens
