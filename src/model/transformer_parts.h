// What a transformer holds.
#pragma once

#include <attend/transformer.h>

#include "model/weights.h"

namespace attend {

struct Transformer::Parts {
  Parts(const ModelDescription& given, const TensorSource& tensors, const ModelOptions& chosen)
      : description(given), options(chosen), weights(given, tensors, chosen.precision) {}
  ModelDescription description;
  ModelOptions options;
  model::ModelWeights weights;
};

}  // namespace attend
