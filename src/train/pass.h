// What the layers of a model share while a batch goes through them.
#pragma once

#include <attend/attention.h>
#include <attend/tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "train/arena.h"
#include "train/model_shape.h"
#include "train/parameters.h"

namespace attend::train {

// Sequences of one length, side by side as rows.
struct Rows {
  std::int64_t sequences = 0, length = 0;
  std::vector<std::int64_t> lengths{};  // how much of each exists; none: all of it
  std::int64_t count() const noexcept { return sequences * length; }
};

// Memory that a layer works in and forgets; planned for the largest need of all layers.
struct Room {
  TensorView panels{};                              // a packed matrix
  TensorView gradient{};                            // for add_linear_gradient()
  TensorView factors{};                             // (2, E): a norm's gradients
  TensorView normed{}, d_normed{}, branch{};        // (rows, E)
  TensorView d_attended{}, d_query{}, d_context{};  // (rows, E), (rows, E or 3 E), (rows, 2 E)
  TensorView activated{}, d_inner{};                // (some rows, I), (some rows, I or 2 I)
  TensorView d_activated{};                         // (some rows, I), with SwiGLU
  TensorView step{}, carried{}, d_past{};           // of GRUs: (sequences, 3 E), (sequences, E), (rows, 3 E)
};

struct Pass {
  const ModelShape& shape;
  Parameters& parameters;
  Room& room;
  bool training = false;               // dropout is on
  std::uint64_t seed = 0;              // of dropout
  Rows rows{};                         // of what goes through the layers now
  Rows source{};                       // of what cross-attention looks at
  ConstTensorView cosines{}, sines{};  // (length, D / 2), where positions are rotary
};

// What attention was given and left, to look at its weights.
struct AttentionMoment {
  ConstTensorView q{}, k{};  // (B, H, L, D)
  AttentionOptions options{};
  ConstRowStateView row_state{};
};

}  // namespace attend::train
