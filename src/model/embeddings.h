// The vectors that enter the first layer.
#pragma once

#include <attend/encoder.h>

namespace attend {

// (rows, E): sinusoidal positions up to the last of these places, or nothing where a model has others. Made
// for each pass: how many there may be is what config.json says, and no tensor of the file proves.
Tensor computed_positions(std::span<const std::int64_t> places, const ModelConfig& config);

// out[i] = words[ids[i]] + types[types of i] + positions[places[i] + first_position], (tokens, E), f32. A
// table that is not given adds nothing. The batch was checked.
void embed_tokens(const TokenBatch& batch, std::span<const std::int64_t> places, const ModelConfig& config,
                  ConstTensorView words, ConstTensorView types, ConstTensorView positions, TensorView out);

}  // namespace attend
