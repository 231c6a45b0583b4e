// What the layers of a model share while a batch goes through them.
#pragma once

#include <attend/matmul.h>
#include <attend/tensor.h>

#include <cstdint>
#include <vector>

#include "train/arena.h"
#include "train/parameters.h"

namespace attend::train {

// Sequences of one length, side by side as rows.
struct Rows {
  std::int64_t sequences = 0, length = 0;
  std::vector<std::int64_t> lengths{};  // tokens of each without padding; none: all
  std::int64_t count() const noexcept { return sequences * length; }
};

// Scratch memory of a layer, planned for the largest need of all layers.
struct Room {
  PackedAs as = PackedAs::f32;              // what products multiply: f32, or bf16
  TensorView packed{};                      // a matrix as products read it
  TensorView sums{};                        // for add_linear_gradient()
  TensorView factors{};                     // (2, n): a norm's gradients
  TensorView normed{}, d_read{}, branch{};  // (rows, E)
  TensorView d_after{};                     // (rows, E), where a feed-forward part is parallel
  TensorView d_attended{};                  // (rows, heads × size)
  TensorView d_projected{}, d_context{};    // (rows, columns)
  TensorView activated{}, d_product{};      // (some rows, columns)
  TensorView d_activated{};                 // (some rows, columns), with a gate
  TensorView step{}, carried{}, d_past{};   // of GRUs: (sequences, 3 E), (sequences, E), (rows, 3 E)
};

struct Pass {
  Parameters& parameters;
  Room& room;
  double dropout = 0;      // 0: nothing is dropped
  std::uint64_t seed = 0;  // of dropout
  Rows rows{};             // of what goes through the layers now
  Rows source{};           // of what cross-attention looks at
};

}  // namespace attend::train
