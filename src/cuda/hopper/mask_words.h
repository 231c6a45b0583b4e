// A mask as the tensor cores' loop reads it: a bit for each key, in the order of the threads' scores
// (hidden.h), so that a tile's mask is two words a thread. An eighth of the mask's bytes, made from any
// layout before the call; what is broadcast stays so.
#pragma once

#include "cuda/problem.h"

namespace attend::cuda {

// Strides in words; a tile of a row is 4 of them.
struct MaskWords {
  const std::uint32_t* data = nullptr;  // null: no mask
  std::int64_t sequence = 0, head = 0, row = 0;
  std::int32_t tile = 0;
};

class PackedMask {
 public:
  PackedMask(plugin::Place place, const plugin::View& mask, int keys_of_tile);
  const MaskWords& words() const { return words_; }

 private:
  MaskWords words_;
  Scratch memory_;
};

}  // namespace attend::cuda
