// The stream of single tokens through the layers, also in a reading that kept no hidden states: attention has
// been computed, so what is left is the work of one token.
#pragma once

#include <attend/lens.h>

#include <span>
#include <vector>

namespace attend::lens {

// What the heads of a layer gather for some tokens, (places, H, D), f32.
Tensor attended_at(const Reading& reading, std::int64_t layer, std::span<const std::int64_t> places);

// What leaves layers 0, 1, ..., as it enters the next, (places, E) each, f32; the last one before the final
// norm.
std::vector<Tensor> token_streams(const Reading& reading, std::span<const std::int64_t> places);

}  // namespace attend::lens
