// Matrices held in blocks of 32 or 256 numbers with scales of their own, as GGUF files have them: the bytes
// of the file, woven into panels of 16 columns (kernels/blocks/block_panel.h). Parts side by side may be of
// different types.
#pragma once

#include <attend/blocks.h>

#include <span>
#include <vector>

#include "nn/packed_format.h"

namespace attend::detail {

// A matrix of numbers is held as Q8_0.
extern const PackedFormat kPackedBlocks;

// The columns of the matrix are the rows of these parts, one after another. All have the same number of
// columns, and all but the last a number of rows that is a multiple of 16.
void check_block_parts(std::span<const BlockView> parts);
std::int64_t bytes_of_block_parts(std::span<const BlockView> parts);
void pack_block_parts(std::span<const BlockView> parts, void* memory);

// Rows of numbers (rows, k) as Q8_0, k being a multiple of 32.
struct EncodedRows {
  std::vector<std::byte> bytes;
  BlockView view;
};
EncodedRows encoded_rows(ConstTensorView rows);

}  // namespace attend::detail
