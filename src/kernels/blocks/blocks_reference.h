// Blocks as the formulas of their format have them, in float64: what the kernels are judged by.
#pragma once

#include <attend/blocks.h>

#include <cstdint>

#include "kernels/blocks/block_panel.h"

namespace attend::kernels {

// The number at (row, column).
double number_reference(const BlockView& blocks, std::int64_t row, std::int64_t column) noexcept;

// A stored row times a vector in int8, (blocks).
double product_reference(const BlockView& blocks, std::int64_t row, const VectorBlock* vector) noexcept;

}  // namespace attend::kernels
