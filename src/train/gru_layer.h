// A layer of gated recurrent units in place of a block: all that a token knows about those before it is one
// vector, which every token changes.
#pragma once

#include <string>

#include "train/pass.h"

namespace attend {
namespace detail {
struct GruWeights;
struct GruTrace;
}  // namespace detail
using namespace detail;
}  // namespace attend

namespace attend::train {

class GruLayer {
 public:
  // dropout: of its input; 0 for the first layer, because embeddings have their own. `stream` distinguishes
  // it from that of other layers.
  GruLayer(Parameters& parameters, const std::string& name, std::int64_t hidden, double dropout,
           std::uint64_t stream);

  void plan(Arena& arena, std::int64_t rows);
  // Scratch memory that layers use one after the other.
  static void plan_work(Arena& arena, Room& room, std::int64_t sequences, std::int64_t rows,
                        std::int64_t hidden);

  // The states, (rows, E).
  TensorView forward(Pass& pass, ConstTensorView x);
  TensorView states(std::int64_t rows) const { return first_rows(out_, rows); }  // that forward() left
  // After a forward() of the same x. d: the gradient of the states, which becomes that of x.
  void backward(Pass& pass, ConstTensorView x, TensorView d);

 private:
  GruWeights weights(const Pass& pass) const;
  GruTrace trace(const Pass& pass) const;
  bool drops(const Pass& pass) const { return dropout_ > 0 && pass.dropout > 0; }

  std::int64_t hidden_;
  double dropout_;
  std::uint64_t stream_;
  int input_, input_bias_, state_, state_bias_;
  TensorView read_{};                            // (rows, E): after dropout, where there is any
  TensorView gates_{}, past_term_{}, before_{};  // (rows, 3 E), (rows, E), (rows, E)
  TensorView out_{};                             // (rows, E)
};

}  // namespace attend::train
