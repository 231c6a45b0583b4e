// A tile of scores in plain f32 multiply-adds: 32 queries, 32 keys, in shared memory. The score of a query and a
// key is the same sum in the same order wherever a tile begins, so that every question about a weight is
// answered from the same bits.
#pragma once

#include "cuda/head.cuh"
#include "cuda/settled_state.h"

namespace attend::cuda {

inline constexpr int kTileRows = 32, kTileKeys = 32, kTileThreads = 128;
inline constexpr int kTileWarps = kTileThreads / 32, kRowsOfWarp = kTileRows / kTileWarps;

struct ScoreTile {
  static constexpr int kSlice = 32, kLanes = 16;  // 8 groups of 4 rows, 16 threads of 2 keys each
  float q[kTileRows][kSlice + 1], k[kTileKeys][kSlice + 1];
  float s[kTileRows][kTileKeys + 1];  // the scores: scale q.k

  // Keys [key, key + 32), of which those before `keys` exist; query_of(row) is the query of a row, or -1. All
  // threads of the block; afterwards all of them may read s.
  template <class QueryOf>
  __device__ void make(const Problem& p, const Head& head, QueryOf query_of, std::int64_t key, std::int64_t keys) {
    const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
    float sums[4][2] = {};
    for (std::int64_t slice = 0; slice < p.d; slice += kSlice) {
      __syncthreads();
      for (int x = threadIdx.x; x < kTileRows * kSlice; x += kTileThreads) {
        const int row = x / kSlice, column = x % kSlice;
        const std::int64_t c = slice + column, i = query_of(row);
        q[row][column] = c < p.d && i >= 0 ? load_float(head.q, p.q.number, i * p.q.row + c * p.q.element) : 0.f;
        k[row][column] = c < p.d && key + row < keys
                             ? load_float(head.k, p.k.number, (key + row) * p.k.row + c * p.k.element)
                             : 0.f;
      }
      __syncthreads();
#pragma unroll 8
      for (int c = 0; c < kSlice; ++c) {
        const float a = k[lane][c], b = k[lane + kLanes][c];
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          sums[r][0] = fmaf(q[group * 4 + r][c], a, sums[r][0]);
          sums[r][1] = fmaf(q[group * 4 + r][c], b, sums[r][1]);
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      s[group * 4 + r][lane] = p.scale * sums[r][0];
      s[group * 4 + r][lane + kLanes] = p.scale * sums[r][1];
    }
    __syncthreads();
  }
};

__device__ inline float weight_of(float biased, const Settled& row) {
  return biased == -CUDART_INF_F ? 0.f : expf(biased - row.max) * row.inverse;
}

inline unsigned tile_blocks(std::int64_t total) { return static_cast<unsigned>(total < (1 << 30) ? total : 1 << 30); }

}  // namespace attend::cuda
