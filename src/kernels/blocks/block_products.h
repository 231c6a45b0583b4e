// Products of vectors in int8 with the rows of a matrix of blocks, which lie in panels of sixteen.
//
// The products of a block are summed as whole numbers, exactly; they are then scaled and added up in f32,
// block after block. So an element is a function of its vector and its stored row alone, whatever else is
// computed with it, and instruction sets differ in how f32 rounds at most.
#pragma once

#include <cstdint>

#include "kernels/blocks/block_panel.h"
#include "kernels/matmul/finish.h"

namespace attend::kernels {

inline constexpr std::int64_t kBlockRows = 128;  // the most vectors of one call

struct BlockProducts {
  BlockType type = BlockType::q8_0;
  const std::byte* panels = nullptr;     // one after another, panel_bytes(type, blocks) each
  std::int64_t columns = 0;              // of the product; the last panel may have some more
  std::int64_t blocks = 0;               // of 32, in a row
  const VectorBlock* vectors = nullptr;  // (rows, blocks)
  std::int64_t rows = 0;                 // at most kBlockRows
  MatmulFinish finish{};
};

void block_products(const BlockProducts& products) noexcept;

// One panel: sums (rows, 16).
struct PanelProducts {
  BlockType type = BlockType::q8_0;
  const std::byte* panel = nullptr;
  std::int64_t blocks = 0;
  const VectorBlock* vectors = nullptr;
  std::int64_t rows = 0;
  float* sums = nullptr;
};

using PanelKernel = void (*)(const PanelProducts&) noexcept;

// By an instruction that multiplies four bytes and adds them up: with its extension (kernels/extensions.h).
#if defined(__x86_64__)
void panel_products_vnni(const PanelProducts& products) noexcept;
void panel_products_avx_vnni(const PanelProducts& products) noexcept;
#elif defined(__aarch64__)
void panel_products_neon_dot(const PanelProducts& products) noexcept;
#endif

}  // namespace attend::kernels
