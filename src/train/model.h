// A model that learns: from ids to the loss and back, by the layers of src/model. Memory that outlives one
// operation is planned when the model is made.
#pragma once

#include <attend/cross_entropy.h>
#include <attend/transformer.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/layer.h"
#include "model/pass_plan.h"
#include "train/gru_layer.h"
#include "train/model_parameters.h"
#include "train/packed_weights.h"

namespace attend::train {

// What a training adds to the description of its model.
struct TrainingOptions {
  std::int64_t sequences = 1;  // the most that one batch may have
  double dropout = 0;          // of embeddings, weights and what each part adds
  bool recompute = false;      // keep only what enters a block, and run the block again in the backward pass
  bool guesses = true;  // tokens; else there is no output layer, and only the vectors of tokens are used
  // Of products and attention, forward and backward: f32, or bf16 where the processor multiplies bf16.
  // Parameters, their gradients and moments, norms, softmax and sums are f32 all the same.
  Precision precision = Precision::f32;
};

// Sequences of one length, side by side; those that are shorter are filled up, and say how long they are.
struct Sequences {
  std::int64_t count = 0, length = 0;
  std::vector<std::int32_t> ids{};      // (count, length)
  std::vector<std::int64_t> lengths{};  // (count), or none: all are whole
};

struct Batch {
  Sequences tokens{};
  // For each token what should be guessed there, or kNoTarget. Not needed for hidden vectors.
  std::vector<std::int32_t> targets{};
  Sequences source{};  // of an encoder-decoder; its count is that of tokens
};

// Any loss that depends on the vectors of tokens, hidden (rows, E): writes its gradient into d_hidden, which
// holds zeros at first.
using HiddenLoss = std::function<void(ConstTensorView hidden, TensorView d_hidden)>;

// What a layer leaves for the backward pass.
struct LayerViews {
  TensorView projected{}, context{}, unnormed{}, attended{}, max{}, sum{};
  TensorView attention_sum{}, after_attention{}, product{}, feed_forward_sum{}, out{};
};
// A source's layers, or those of the tokens.
struct LayerStack {
  std::int64_t first = 0, last = 0;  // of the description's layers, from 0
  std::uint64_t stream = 0;          // of its embeddings' dropout
  NormPlaces embedding_norm{}, final_norm{};
  TensorView embedded{}, entering{};  // (rows, E): before and after the norm of the embeddings
  TensorView leaving{};               // (rows, E): after the final norm, where there is one
};

class Model {
 public:
  // f32, or f64, which is the reference: the same model in plain float64. Memory::later: parameters() has
  // names and shapes, and nothing else may be used until allocate(); so a file can be compared with a
  // description before any memory is taken. Throws std::invalid_argument for a model that cannot fit into
  // memory.
  enum class Memory : std::uint8_t { now, later };
  Model(const ModelDescription& description, const TrainingOptions& options, DType dtype = DType::f32,
        Memory memory = Memory::now);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void allocate();

  const ModelDescription& description() const noexcept { return description_; }
  const TrainingOptions& options() const noexcept { return options_; }
  Parameters& parameters() noexcept { return parameters_; }
  std::int64_t activation_bytes() const;  // planned once, beside the parameters

  // The loss of a batch, without dropout. The observer sees each layer's attention as it happens, its views
  // being (sequences, heads, length, size).
  CrossEntropy evaluate(const Batch& batch, const LayerObserver& observer = {});

  // The loss of a batch, with dropout of this seed; adds weight times its gradient to that of the parameters.
  CrossEntropy learn(const Batch& batch, double weight, std::uint64_t seed);

  // The vectors that leave the model, (rows, E): token t of sequence s is row s length + t. hidden() has no
  // dropout, and its result lasts until the next call. learn_from_hidden() has that of this seed, and adds
  // the gradient of the loss to that of the parameters.
  ConstTensorView hidden(const Batch& batch, const LayerObserver& observer = {});
  void learn_from_hidden(const Batch& batch, const HiddenLoss& loss, std::uint64_t seed);

  // The logits of one row of tokens, (vocabulary), without dropout: row r of sequence s is s length + r.
  Tensor logits(const Batch& batch, std::int64_t row);

 private:
  void plan();
  void plan_stack(LayerStack& stack, std::int64_t rows);
  void plan_inside(std::int64_t index, std::int64_t rows);
  void plan_packed_weights();
  void plan_room(std::int64_t rows);
  bool is_recurrent() const noexcept { return !recurrent_.empty(); }
  void check(const Batch& batch) const;
  void check_targets(const Batch& batch) const;
  Pass pass_for(const Batch& batch, bool training, std::uint64_t seed);

  // The layers [first, last], of which only the last has a feed-forward part: they are recomputed as one.
  std::int64_t first_of_block(const LayerStack& stack, std::int64_t last) const;
  model::LayerRun run_of(Pass& pass, std::int64_t index, AttentionOptions& options) const;
  ConstTensorView entering(const LayerStack& stack, std::int64_t index) const;
  void run_layer(Pass& pass, const LayerStack& stack, std::int64_t index, ConstTensorView source);
  void run_layer_back(Pass& pass, const LayerStack& stack, std::int64_t index, ConstTensorView source,
                      TensorView d, TensorView d_source);
  void embed(Pass& pass, LayerStack& stack, const Sequences& tokens);
  void embed_back(Pass& pass, LayerStack& stack, const Sequences& tokens, TensorView d);
  void show(Pass& pass, std::int64_t index, const LayerObserver& observer) const;

  // What leaves the last layer, and the final norm.
  TensorView forward(Pass& pass, const Batch& batch, const LayerObserver& observer);
  TensorView run_stack(Pass& pass, LayerStack& stack, const Sequences& tokens, ConstTensorView source,
                       const LayerObserver& observer);
  void backward(Pass& pass, const Batch& batch, TensorView d);  // d: of what forward() returned
  void back_through_stack(Pass& pass, LayerStack& stack, const Sequences& tokens, ConstTensorView source,
                          TensorView d, TensorView d_source);
  // The loss of the rows that have a target, some rows at a time. d_hidden: zeros, which become their
  // gradient; or not given.
  CrossEntropy guess(ConstTensorView hidden, std::span<const std::int32_t> targets, double weight,
                     TensorView d_hidden);
  void require_output() const;
  model::Operand output_matrix();

  ModelDescription description_;
  TrainingOptions options_;
  DType dtype_;
  Parameters parameters_;
  ModelPlaces places_;
  std::optional<LayerStack> source_;
  LayerStack tokens_;
  std::vector<std::uint64_t> streams_;  // of each layer's dropout
  std::deque<LayerViews> views_;        // of each layer; a deque: views are planned, so they must not move
  std::vector<model::LayerWeights> weights_;
  std::vector<model::LayerGradients> gradients_;
  std::deque<GruLayer> recurrent_;  // in place of layers

  PackedWeights packed_;  // in bf16 alone: in f32 each matrix is packed where it is used, into one room
  Arena arena_;
  Room room_;
  TensorView d_{}, d_memory_{};                       // (rows, E)
  TensorView picked_{}, logits_{};                    // (some rows, E), (some rows, vocabulary)
  Tensor sinusoidal_;                                 // (length, E), where positions are of that kind
  model::EveryRotaryTable rotary_tables_;             // (length, pairs), where they are rotary
  std::vector<const model::RotaryTables*> rotary_{};  // of each layer; none where no layer has them
};

}  // namespace attend::train
