// A model that learns: from ids to the loss and back. What lives longer than one operation is planned when it
// is made.
#pragma once

#include <attend/cross_entropy.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/block.h"
#include "train/embedder.h"
#include "train/gru_layer.h"

namespace attend::train {

// Sequences of one length, side by side; those that are shorter are filled up, and say how long they are.
struct Sequences {
  std::int64_t count = 0, length = 0;
  std::vector<std::int32_t> ids{};      // (count, length)
  std::vector<std::int64_t> lengths{};  // (count), or none: all are whole
};

struct Batch {
  Sequences tokens{};
  // For each token what should be guessed there, or kNoTarget. Who asks for hidden vectors needs none.
  std::vector<std::int32_t> targets{};
  Sequences source{};  // of an encoder-decoder; its count is that of tokens
};

// The most that one batch may have.
struct BatchLimits {
  std::int64_t sequences = 1;
};

// A block's attention, as it happens.
struct LayerAttention {
  enum class Which : std::uint8_t { encoder, decoder, cross };
  Which which;
  std::int64_t layer;  // from 0
  AttentionMoment moment;
};
using AttentionObserver = std::function<void(const LayerAttention&)>;

// Any number that depends on the vectors of tokens, hidden (rows, E): writes how it changes with each of them
// into d_hidden, which comes as zeros.
using HiddenLoss = std::function<void(ConstTensorView hidden, TensorView d_hidden)>;

class Model {
 public:
  // f32, or f64, which is the reference: the same model in plain float64. Memory::later: parameters() has
  // names and shapes, and nothing more may be asked for until allocate(); so a file can be compared with a
  // shape before that shape takes any memory. Throws std::invalid_argument for a model that cannot fit into
  // memory.
  enum class Memory : std::uint8_t { now, later };
  Model(const ModelShape& given, const BatchLimits& limits, DType dtype = DType::f32,
        Memory memory = Memory::now);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void allocate();

  const ModelShape& shape() const noexcept { return shape_; }
  Parameters& parameters() noexcept { return parameters_; }
  std::int64_t activation_bytes() const;  // planned once, beside the parameters

  // The loss of a batch, without dropout.
  CrossEntropy evaluate(const Batch& batch, const AttentionObserver& observer = {});

  // The loss of a batch, with dropout of this seed; adds weight times its gradient to that of the parameters.
  CrossEntropy learn(const Batch& batch, double weight, std::uint64_t seed);

  // The vectors that leave the model, (rows, E): token t of sequence s is row s length + t. hidden() has no
  // dropout, and its result lasts until the next call. learn_from_hidden() has that of this seed, and adds
  // the gradient of the loss to that of the parameters.
  ConstTensorView hidden(const Batch& batch, const AttentionObserver& observer = {});
  void learn_from_hidden(const Batch& batch, const HiddenLoss& loss, std::uint64_t seed);

  // The logits of one row of tokens, (vocabulary), without dropout: row r of sequence s is s length + r.
  Tensor logits(const Batch& batch, std::int64_t row);

 private:
  void plan(const BatchLimits& limits);
  void check(const Batch& batch) const;
  void check_targets(const Batch& batch) const;
  Pass pass_for(const Batch& batch, bool training, std::uint64_t seed);
  // What leaves the last block, and the final norm.
  TensorView forward(Pass& pass, const Batch& batch, const AttentionObserver& observer);
  void backward(Pass& pass, const Batch& batch, TensorView d);  // d: of what forward() returned
  TensorView run_stack(Pass& pass, std::deque<Block>& blocks, Embedder& embedder, std::optional<Norm>& norm,
                       TensorView normed, const Sequences& tokens, ConstTensorView source,
                       std::vector<TensorView>& streams, const AttentionObserver& observer, bool encoder);
  void back_through_stack(Pass& pass, std::deque<Block>& blocks, Embedder& embedder,
                          std::optional<Norm>& norm, const Sequences& tokens, ConstTensorView source,
                          const std::vector<TensorView>& streams, TensorView d, TensorView d_source);
  // Of the rows that have a target, some at a time. d_hidden: zeros, where their gradient goes; or not given.
  CrossEntropy guess(Pass& pass, ConstTensorView hidden, std::span<const std::int32_t> targets, double weight,
                     TensorView d_hidden);
  void require_output() const;
  ConstTensorView output_matrix();

  ModelShape shape_;
  BatchLimits limits_;
  DType dtype_;
  Parameters parameters_;
  int words_ = -1, positions_ = -1, type_ = -1, output_ = -1;
  std::optional<Embedder> source_embedder_, embedder_;
  std::deque<Block> encoder_, decoder_;  // a deque: views inside a block are planned, so it must not move
  std::deque<GruLayer> recurrent_;       // in place of the decoder's blocks
  std::optional<Norm> encoder_norm_, final_norm_;
  std::vector<TensorView> encoder_streams_, streams_;  // what enters each block, and what leaves the last

  Arena arena_;
  Room room_;
  TensorView memory_{}, normed_{};  // (rows, E): after the final norms
  TensorView d_{}, d_memory_{};     // (rows, E)
  TensorView picked_{}, logits_{};  // (some rows, E), (some rows, vocabulary)
  Tensor cosines_, sines_;
};

}  // namespace attend::train
