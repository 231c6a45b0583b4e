#include "train/model_shape.h"

#include "base/error.h"

namespace attend::train {

ModelShape settled(ModelShape shape) {
  if (shape.mixer != MixerKind::gru) return shape;
  const ModelShape plain;
  shape.heads = 1;
  shape.inner = 1;
  shape.norm_first = plain.norm_first;
  shape.norm = plain.norm;
  shape.feed_forward = plain.feed_forward;
  shape.positions = PositionKind::none;
  shape.scaled = plain.scaled;
  shape.epsilon = plain.epsilon;
  shape.recompute = false;
  return shape;
}

void check(const ModelShape& shape) {
  constexpr const char* kOperation = "train";
  const auto counts = [](const char* name, std::int64_t value, std::int64_t most = kLargestSize) {
    if (value < 1 || value > most)
      refuse(kOperation, name, " is ", value, ", expected a number from 1 to ", most);
  };
  if (shape.mixer == MixerKind::gru && shape.kind != ModelKind::decoder) {
    refuse(kOperation, "layers of GRUs read forwards, so they make a decoder and nothing else");
  }
  counts("vocabulary", shape.vocabulary);
  counts("length", shape.length);
  counts("layers", shape.layers, kMostLayers);
  counts("hidden", shape.hidden);
  counts("heads", shape.heads);
  counts("inner", shape.inner);
  if (shape.hidden % shape.heads != 0) {
    refuse(kOperation, "hidden is ", shape.hidden, ", expected a multiple of the ", shape.heads, " heads");
  }
  if (shape.positions == PositionKind::rotary && shape.hidden / shape.heads % 2 != 0) {
    refuse(kOperation, "a head has ", shape.hidden / shape.heads,
           " dimensions, and rotary positions turn them in pairs");
  }
  if (!(shape.epsilon >= 0)) refuse(kOperation, "epsilon is ", shape.epsilon, ", expected 0 or more");
  if (!(shape.dropout >= 0 && shape.dropout < 1)) {
    refuse(kOperation, "dropout is ", shape.dropout, ", expected a number from 0 to below 1");
  }
}

}  // namespace attend::train
