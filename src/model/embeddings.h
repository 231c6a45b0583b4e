// The vectors that enter the first layer.
#pragma once

#include <attend/encoder.h>

namespace attend {

// out[i] = words[ids[i]] + types[types of i] + positions[place of i in its text + first_position], (tokens,
// E), f32. A table that is not given adds nothing.
void embed_tokens(const TokenBatch& batch, const ModelConfig& config, ConstTensorView words,
                  ConstTensorView types, ConstTensorView positions, TensorView out);

}  // namespace attend
