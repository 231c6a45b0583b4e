// Fused attention in fp32 over Google Highway: the scores of a tile of queries and keys are made,
// exponentiated and used while they are in the cache, and the n x n matrix never exists. One source, compiled
// for each instruction set, chosen at run time.
#pragma once

#include <cstdint>

#include "kernels/attention/head.h"

namespace attend::kernels {

// Queries that are worked on together at most, and those of one vector: a tile takes as long as its vectors.
std::int64_t fused_tile_queries() noexcept;
std::int64_t fused_group_queries() noexcept;
std::int64_t scratch_size_fused(std::int64_t d, std::int64_t dv) noexcept;

// Tiles that can be worked on in turns, so that keys are fetched once for all of them.
inline constexpr int kFusedTiles = 4;

// Rows [first, last), at most kFusedTiles * fused_tile_queries() of them. scratch: 64-byte aligned.
void attention_fused(const Head<float>& head, std::int64_t first, std::int64_t last,
                     const HeadOutput<float>& output, float* scratch) noexcept;

}  // namespace attend::kernels
