// How much memory a model that learns takes, from its description alone: known before anything is allocated.
#pragma once

#include <attend/dtype.h>
#include <attend/model_description.h>

#include <cstdint>

namespace attend::train {

struct TrainingOptions;

// In bytes, as double, so that no description makes them overflow.
struct ModelMemory {
  double parameters = 0;   // values, gradients and both moments
  double activations = 0;  // what Model plans once for its batches
  double tables = 0;       // of positions that are computed, and of tokens' places
  double total() const { return parameters + activations + tables; }
};

// For a description that check() accepts. Rounding to cache lines is left out.
ModelMemory model_memory(const ModelDescription& description, const TrainingOptions& options,
                         DType dtype = DType::f32);

// Throws std::invalid_argument where a model would take more than this process can ever have.
void require_memory(const ModelDescription& description, const TrainingOptions& options, DType dtype);

// The most scratch memory that any layer needs; layers use it one after the other.
struct RoomSizes {
  RoomSizes(const ModelDescription& description, const TrainingOptions& options);
  std::int64_t packed = 0, sums = 0;  // numbers: of the largest packed matrix, and of its gradient's sums
  double held = 0;                    // of all packed matrices, where they are held: in bf16
  std::int64_t factors = 0;           // of the longest norm
  std::int64_t attended = 0, projected = 0, context = 0, inner = 0, product = 0;  // columns
  bool gated = false, parallel = false;

 private:
  void add_matrix(std::int64_t in, std::int64_t out);
  PackedAs as_;
};

// Rows whose logits are made together: at most 16 MiB of f32, so that a large vocabulary takes no more memory
// than the layers do. A function of the vocabulary alone.
std::int64_t logit_rows(std::int64_t vocabulary);

}  // namespace attend::train
