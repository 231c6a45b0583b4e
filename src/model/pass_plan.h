// What the layers of a pass read, for one batch: which rows, at which positions, with which options.
#pragma once

#include <attend/encoder.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace attend {

// Rows [first, last) of a tensor that has one for each token.
struct RowRange {
  std::int64_t first = 0, last = 0;
  template <class View>
  View of(const View& view) const {
    return view.slice(0, first, last);
  }
};

// Throws std::invalid_argument for ids outside the vocabulary, texts longer than there are positions, and
// more than one text for a model with an encoder and a decoder.
void check_batch(const TokenBatch& batch, const ModelConfig& config);

class PassPlan {
 public:
  // A batch that was checked. relative_bias (buckets, heads), where the family has one.
  PassPlan(const ModelConfig& config, const TokenBatch& batch, ConstTensorView relative_bias);

  // Of each token, in its text; in its source or target, where there are both.
  std::span<const std::int64_t> places() const { return places_; }

  RowRange source() const { return {0, split_}; }
  RowRange target() const { return {split_, tokens_}; }
  RowRange queries(LayerKind kind) const;
  RowRange keys(LayerKind kind) const;
  const AttentionOptions& options(LayerKind kind) const { return options_[static_cast<std::size_t>(kind)]; }
  // A copy keeps alive what options look at.
  std::shared_ptr<const void> options_owner() const { return owner_; }

  // Rotary positions: turns queries or keys (tokens, H, D) of these rows, or turns gradients back.
  void turn(TensorView heads, RowRange rows, bool back = false) const;

 private:
  void mask_parts();

  std::int64_t tokens_, split_;
  bool rotary_;
  std::vector<std::int64_t> places_;
  std::array<AttentionOptions, 4> options_;  // of each LayerKind
  std::shared_ptr<const void> owner_;
};

}  // namespace attend
