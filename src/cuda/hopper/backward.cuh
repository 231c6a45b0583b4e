// What the parts of the fast backward pass share. The weights are made again from the log-sum-exp; they and
// the gradients of the scores are rounded to 16 bits before they meet rows of q, k or d_out; all sums are
// f32.
#pragma once

#include <type_traits>

#include "cuda/error.h"
#include "cuda/head.cuh"
#include "cuda/hopper/backward_parameters.h"
#include "cuda/hopper/fragments.h"
#include "cuda/hopper/instructions.cuh"
#include "cuda/hopper/schedule.h"
#include "cuda/hopper/strange.h"
#include "cuda/hopper/wgmma.h"
#include "cuda/sight.h"

namespace attend::cuda {

// A tile of 128 keys, of one head of one sequence.
struct OwnedTile {
  std::int32_t s, h, tile, first;

  OwnedTile() = default;
  __device__ OwnedTile(const BackwardParameters& p, std::int32_t number) {
    const KeyTile key_tile = p.order.at(number);
    const int heads = p.backward.problem.heads / p.backward.problem.group;
    s = key_tile.row / heads;
    h = key_tile.row % heads;
    tile = key_tile.tile;
    first = tile * kOwnedKeys;
  }
  // Looked up where they are needed: registers are what the loops are short of.
  __device__ __forceinline__ Sequence sequence(const BackwardParameters& p) const {
    return p.backward.problem.each == nullptr ? p.backward.problem.same : p.backward.problem.each[s];
  }
  __device__ __forceinline__ Visible visible(const BackwardParameters& p) const {
    const Problem& problem = p.backward.problem;
    const Sequence at = sequence(p);
    return {at.key_count, at.query_offset, problem.window_left, problem.window_right, problem.causal != 0};
  }
};

// A tile, in boxes of some rows and 64 columns.
template <int kRowsOfTile, int kChunks>
__device__ __forceinline__ void copy_tile(char* to, const CUtensorMap* map, std::uint64_t* barrier, int row,
                                          int head, int sequence) {
#pragma unroll 1
  for (int c = 0; c < kChunks; ++c) {
#pragma unroll 1
    for (int box = 0; box < kRowsOfTile; box += kBackwardBox)
      copy_box(to + (c * kRowsOfTile + box) * kRowBytes, map, barrier, c * kChunkColumns, row + box, head,
               sequence);
  }
}

// The weight of a score whose row has this log-sum-exp, both in powers of 2 after scaling. At most 1: for
// enormous scores the two were rounded apart. NaN stays NaN.
__device__ __forceinline__ float weight_of(float score, float log2_scale, float log2_sum) {
  float below;
  asm("min.NaN.f32 %0, %1, 0f00000000;" : "=f"(below) : "f"(fmaf(score, log2_scale, -log2_sum)));
  return exp2_unit(below);
}

template <class T>
inline constexpr ExponentBits kExponentsOf = std::is_same_v<T, __half> ? kF16Exponents : kBf16Exponents;

// By 256 threads: whether any of a tile's numbers is NaN or infinite, for each thread's share; and zeros for
// those.
template <class T>
__device__ __forceinline__ bool has_strange(const char* tile, int bytes, int thread) {
  std::uint32_t found = 0;
#pragma unroll 4
  for (int x = thread; x < bytes / 16; x += 256) {
    const uint4 w = reinterpret_cast<const uint4*>(tile)[x];
    found |= strange_halves(w.x, kExponentsOf<T>) | strange_halves(w.y, kExponentsOf<T>) |
             strange_halves(w.z, kExponentsOf<T>) | strange_halves(w.w, kExponentsOf<T>);
  }
  return found != 0;
}
template <class T>
__device__ __forceinline__ void clear_strange(char* tile, int bytes, int thread) {
#pragma unroll 1
  for (int x = thread; x < bytes / 16; x += 256) {
    uint4& w = reinterpret_cast<uint4*>(tile)[x];
    w = make_uint4(without_strange(w.x, kExponentsOf<T>), without_strange(w.y, kExponentsOf<T>),
                   without_strange(w.z, kExponentsOf<T>), without_strange(w.w, kExponentsOf<T>));
  }
}

// 64 x kD sums of a warpgroup, times `scale`, to rows [first, first + 64) of a gradient; rows from `present`
// on get zeros, and from `rows` on nothing.
template <class T, int kD>
__device__ __forceinline__ void store_sums(const float (&sums)[kD / 2], int thread, const Placed& target,
                                           StoreAs as, std::int64_t s, std::int64_t h, std::int64_t begin,
                                           std::int64_t first, std::int64_t present, std::int64_t rows,
                                           std::int64_t width, float scale) {
  if (target.data == nullptr) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const std::int64_t row = first + sum_row(thread, 2 * r);
    if (row >= rows) continue;
    const float factor = row < present ? scale : 0.f;
    const bool none = row >= present;
    char* const to = const_cast<char*>(Head::row_of(target, s, h, begin + row));
#pragma unroll
    for (int x = 2 * r; x < kD / 2; x += 4) {
      const int column = sum_column(thread, x);
      const float a = none ? 0.f : sums[x] * factor, b = none ? 0.f : sums[x + 1] * factor;
      if (as == StoreAs::pairs_of_16_bits) {
        if (column < width) *reinterpret_cast<std::uint32_t*>(to + column * 2) = packed(T{}, a, b);
      } else if (as == StoreAs::pairs_of_floats) {
        if (column < width) *reinterpret_cast<float2*>(to + column * 4) = make_float2(a, b);
      } else {
        if (column < width) store_float(to, target.number, column * target.element, a);
        if (column + 1 < width) store_float(to, target.number, (column + 1) * target.element, b);
      }
    }
  }
}

}  // namespace attend::cuda
