// What a transformer holds.
#pragma once

#include <attend/transformer.h>

#include "model/weights.h"

namespace attend {

struct Transformer::Parts {
  Parts(const ModelDescription& given, const TensorSource& tensors)
      : description(given), weights(given, tensors) {}
  ModelDescription description;
  model::ModelWeights weights;
};

}  // namespace attend
