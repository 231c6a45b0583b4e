// What a model that learns takes of memory, from its shape alone: to be known before anything is made.
#pragma once

#include <attend/dtype.h>

#include <cstdint>

#include "train/model_shape.h"

namespace attend::train {

// In bytes; real numbers, so that no shape makes them overflow.
struct ModelMemory {
  double parameters = 0;   // values, gradients and both moments
  double activations = 0;  // what Model plans once for its batches
  double tables = 0;       // of positions that are computed, and of tokens' places
  double total() const { return parameters + activations + tables; }
};

// Of a shape that check() lets through, for batches of so many sequences. Rounding to cache lines is left
// out.
ModelMemory model_memory(const ModelShape& given, std::int64_t sequences, DType dtype = DType::f32);

// Throws std::invalid_argument where a model would take more than this process can ever have.
void require_memory(const ModelShape& shape, std::int64_t sequences, DType dtype);

// Rows whose logits are made together: at most 16 MiB of f32, so that a large vocabulary takes no more memory
// than the layers do. A function of the vocabulary alone.
std::int64_t logit_rows(std::int64_t vocabulary);

}  // namespace attend::train
