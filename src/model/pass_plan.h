// What the layers of a pass read, for one batch of texts: which rows, at which positions, with which options.
#pragma once

#include <attend/transformer.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/weights.h"

namespace attend::model {

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
void check_batch(const TokenBatch& batch, const ModelDescription& description);
// Throws std::invalid_argument for a number of layers that a pass cannot go through.
void require_layer_count(const ModelDescription& description, std::optional<std::int64_t> layers);
void check_share(std::span<const std::int32_t> ids, const TextShare& share,
                 const ModelDescription& description);
void check_ids(std::span<const std::int32_t> ids, const ModelDescription& description);

// The cosines and sines of rotary positions, (places, pairs), f64.
struct RotaryTables {
  Tensor cosines, sines;
};

// Those of all layers of a model, for the same places: made once for each way to rotate.
class EveryRotaryTable {
 public:
  // lengths: for each place, the number of tokens in its text, on which some models' rotation depends; none:
  // it does not matter.
  const RotaryTables& of(const AttentionDescription& attention, std::span<const std::int64_t> places,
                         std::span<const std::int64_t> lengths = {});

 private:
  struct Entry {
    Rotary rotary;
    std::int64_t head_size;
    RotaryTables tables;
  };
  std::deque<Entry> made_;  // a deque: views look at them, so they must not move
};

// What a description says about scores, for packed texts; without what depends on places and on source and
// target.
AttentionOptions attention_options(const AttentionDescription& attention, std::span<const double> sinks,
                                   Precision precision = Precision::f32);

class PassPlan {
 public:
  // The batch must have been checked.
  PassPlan(const ModelDescription& description, const ModelWeights& weights, const TokenBatch& batch);
  // Of some tokens of one text; the options are those of the whole text, not packed.
  PassPlan(const ModelDescription& description, const ModelWeights& weights, const TextShare& share);

  // The place of each token in its text, or in its source or target where there are both.
  std::span<const std::int64_t> places() const { return places_; }

  RowRange source() const { return {0, split_}; }
  RowRange target() const { return {split_, tokens_}; }
  RowRange queries(LayerKind kind) const;
  RowRange keys(LayerKind kind) const;

  // The options of the layer with this index, from 0.
  const AttentionOptions& options(std::int64_t index) const { return steps_[at(index)].options; }
  // For the rows of its queries; not given unless its positions are rotary.
  ConstTensorView cosines(std::int64_t index) const { return steps_[at(index)].cosines; }
  ConstTensorView sines(std::int64_t index) const { return steps_[at(index)].sines; }
  // A copy keeps alive what the views in options refer to.
  std::shared_ptr<const void> options_owner() const { return owner_; }

 private:
  struct Step {
    AttentionOptions options;
    ConstTensorView cosines, sines;
  };
  struct Shared;
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  // Steps with what a description says about scores, and with the tables of rotary positions.
  void plan_layers(const ModelDescription& description, const ModelWeights& weights,
                   std::span<const std::int64_t> lengths, Shared& shared);
  void mask_parts(const ModelDescription& description, Shared& shared);

  std::int64_t tokens_, split_;
  std::vector<std::int64_t> places_;
  std::vector<Step> steps_;
  std::shared_ptr<const void> owner_;
};

}  // namespace attend::model
