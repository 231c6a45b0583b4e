// A layer of gated recurrent units in place of a block: all that a token knows of those before it is one
// vector, which every token changes.
#pragma once

#include <string>

#include "train/layers.h"

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
  // `stream` tells its dropout, of what it reads, from that of others. The first layer has none: it reads
  // embeddings, which have their own.
  GruLayer(Parameters& parameters, const std::string& name, const ModelShape& shape, bool first,
           std::uint64_t stream);

  void plan(Arena& arena, std::int64_t rows);
  void plan_room(std::int64_t& panels, std::int64_t& gradient) const;
  // What layers work in one after the other.
  static void plan_work(Arena& arena, Room& room, std::int64_t sequences, const ModelShape& shape);

  // The states, (rows, E).
  TensorView forward(Pass& pass, ConstTensorView x);
  // After a forward() of the same x. d: the gradient of what left becomes that of x.
  void backward(Pass& pass, ConstTensorView x, TensorView d);

 private:
  GruWeights weights(const Pass& pass) const;
  GruTrace trace(const Pass& pass) const;
  bool drops(const Pass& pass) const { return dropout_ > 0 && pass.training; }

  std::int64_t hidden_;
  double dropout_;
  std::uint64_t stream_;
  int input_, input_bias_, state_, state_bias_;
  TensorView read_{};                            // (rows, E): after dropout, where there is any
  TensorView gates_{}, past_term_{}, before_{};  // (rows, 3 E), (rows, E), (rows, E)
  TensorView out_{};                             // (rows, E)
};

}  // namespace attend::train
