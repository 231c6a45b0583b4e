// A vector in int8, as the products of block matrices read it.
#pragma once

#include <cstdint>

#include "kernels/blocks/block_panel.h"

namespace attend::kernels {

// Each 32 numbers become whole numbers from -127 to 127 times a scale, rounded to nearest: the error of a
// number is at most 1/254 of the largest of the 32. Numbers after `count` are 0. blocks: blocks_for(count).
void encode_vector(const float* numbers, std::int64_t count, VectorBlock* blocks) noexcept;

}  // namespace attend::kernels
