// How much memory a training will take, before it takes any.
#pragma once

#include "learn/config.h"
#include "train/model.h"

namespace attend::learn {

// Bytes: parameters with their gradients and moments, activations, and batches with those of the validation.
double memory_need(const ModelDescription& description, const train::TrainingOptions& options);

// Throws ConfigError where a configuration, completed by its task, has sizes that no model may have; and
// where a training needs more than this process can ever have. The latter names the key that adds most to the
// need: the one whose default value would make it smallest.
void require_sizes(const Config& config, const train::TrainingOptions& options);
void require_memory(const Config& config, const ModelDescription& description,
                    const train::TrainingOptions& options);

}  // namespace attend::learn
