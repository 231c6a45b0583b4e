// What a training will take of memory, before it takes any.
#pragma once

#include <cstdint>

#include "learn/config.h"
#include "train/model_shape.h"

namespace attend::learn {

// Bytes: parameters with their gradients and moments, activations, and batches with those of the validation.
// `shape` is what the task made of the configuration's model, `sequences` how many a batch has.
double memory_need(const train::ModelShape& shape, std::int64_t sequences);

// Throws ConfigError where a training needs more than this process can ever have, or has sizes that no model
// may have. It names the key that adds most to the need: the one whose usual value would make it smallest.
void require_memory(const Config& config, const train::ModelShape& shape, std::int64_t sequences);

}  // namespace attend::learn
