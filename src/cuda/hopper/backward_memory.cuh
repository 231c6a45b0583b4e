// The shared memory of a block of the fast backward pass, and the warps that fill it: one thread has tiles
// copied, a warp brings the numbers of rows, and two threads add what has been found for d_q to the sums in
// memory, in order.
#pragma once

#include "cuda/hopper/backward.cuh"

namespace attend::cuda {

// What is looked up now and then is here, too: registers are what the loop is short of.
template <class Shape>
struct BackwardMemory {
  alignas(1024) char k[Shape::kKeyBytes];
  alignas(1024) char v[Shape::kKeyBytes];
  alignas(1024) char q[Shape::kQueryStages][Shape::kQueryBytes];
  alignas(1024) char d_out[Shape::kOutStages][Shape::kQueryBytes];
  alignas(1024) char d_s[2][kOwnedKeys * Shape::kQueries * 2];  // keys by queries, 64 queries after the other
  alignas(1024) float d_q[2][Shape::kSumStages][Shape::kQuerySums];  // of each warpgroup
  alignas(16) float log2_sum[Shape::kQueryStages][Shape::kQueries];
  alignas(16) float delta[Shape::kQueryStages][Shape::kQueries];
  QueryTilesOfGroup group;
  SightOfKeys sight;
  OwnedTile own;
  std::int32_t number;   // of the block
  std::int32_t strange;  // something of d_out was cleared
  char strange_key[kOwnedKeys];
  std::uint64_t keys_full, q_full[Shape::kQueryStages], q_empty[Shape::kQueryStages];
  std::uint64_t d_out_full[Shape::kOutStages], d_out_empty[Shape::kOutStages];
  std::uint64_t d_s_full, d_q_full[2][Shape::kSumStages], d_q_empty[2][Shape::kSumStages];

  __device__ void make_barriers() {
    constexpr int kWarpgroups = 2, kWarps = 8;
    barrier_init(&keys_full, 1);
    for (int i = 0; i < Shape::kQueryStages; ++i) {
      barrier_init(&q_full[i], 1 + 32);
      barrier_init(&q_empty[i], kWarpgroups);
    }
    for (int i = 0; i < Shape::kOutStages; ++i) {
      barrier_init(&d_out_full[i], 1);
      barrier_init(&d_out_empty[i], kWarpgroups);
    }
    barrier_init(&d_s_full, kWarps);
    for (int i = 0; i < kWarpgroups; ++i) {
      for (int stage = 0; stage < Shape::kSumStages; ++stage) {
        barrier_init(&d_q_full[i][stage], kWarps / kWarpgroups);
        barrier_init(&d_q_empty[i][stage], 1);
      }
    }
    barriers_ready();
  }
};

// Calls use(number, query head, tile) for each tile that goes by. All heads of a tile before the next one: were it the
// other way round, a block would wait at the end of each head for the one of the keys before, which sees more.
template <class Use>
__device__ __forceinline__ void for_each_tile(const QueryTilesOfGroup& group, Use use) {
  int number = 0;
#pragma unroll 1
  for (int tile = group.tiles.end - 1; tile >= group.tiles.begin; --tile) {
#pragma unroll 1
    for (int h = group.head; h < group.head + group.heads; ++h, ++number) use(number, h, tile);
  }
}

template <class Shape>
__device__ void fetch_tiles(const BackwardParameters& p, BackwardMemory<Shape>& memory,
                            const OwnedTile& own) {
  const int sequence = p.backward.problem.packed != 0 ? 0 : own.s;
  const int key = static_cast<int>(own.sequence(p).key_begin) + own.first;
  const int first_row = static_cast<int>(own.sequence(p).query_begin);
  barrier_expect(&memory.keys_full, 2 * Shape::kKeyBytes);
  copy_tile<kOwnedKeys, Shape::kChunks>(memory.k, &p.k, &memory.keys_full, key, own.h, sequence);
  copy_tile<kOwnedKeys, Shape::kChunks>(memory.v, &p.v, &memory.keys_full, key, own.h, sequence);
  for_each_tile(memory.group, [&](int number, int h, int tile) {
    const int row = first_row + tile * Shape::kQueries;
    const auto fetch = [&](char* to, const CUtensorMap& map, std::uint64_t* full, std::uint64_t* empty,
                           int stages) {
      barrier_wait(empty, (number / stages & 1) ^ 1);
      barrier_expect(full, Shape::kQueryBytes);
      copy_tile<Shape::kQueries, Shape::kChunks>(to, &map, full, row, h, sequence);
    };
    const int q = number % Shape::kQueryStages, d_out = number % Shape::kOutStages;
    fetch(memory.q[q], p.q, &memory.q_full[q], &memory.q_empty[q], Shape::kQueryStages);
    fetch(memory.d_out[d_out], p.d_out, &memory.d_out_full[d_out], &memory.d_out_empty[d_out],
          Shape::kOutStages);
  });
}

// A warp brings what is one number for each query. Those that do not exist get weights of 0.
template <class Shape>
__device__ void fetch_terms(const BackwardParameters& p, BackwardMemory<Shape>& memory, const OwnedTile& own,
                            int lane) {
  const RowTerms& rows = p.backward.rows;
  const std::int64_t first_row = own.sequence(p).query_begin, to_delta = rows.delta - rows.log2_sum;
  for_each_tile(memory.group, [&](int number, int h, int tile) {
    const int stage = number % Shape::kQueryStages;
    const float* const sums = rows.log2_sum + rows.at(own.s, h, first_row);
    barrier_wait(&memory.q_empty[stage], (number / Shape::kQueryStages & 1) ^ 1);
#pragma unroll
    for (int x = lane; x < Shape::kQueries; x += 32) {
      const int i = tile * Shape::kQueries + x;
      const bool exists = i < memory.sight.queries;
      memory.log2_sum[stage][x] = exists ? sums[i] : CUDART_INF_F;
      memory.delta[stage][x] = exists ? sums[i + to_delta] : 0.f;
    }
    barrier_arrive(&memory.q_full[stage]);
  });
}

// One thread adds what a warpgroup has found for d_q, tile after tile, when the block of the keys before has
// added its own. The first one stores, so that nobody has to clear the sums.
template <class Shape>
__device__ void add_to_query_sums(const BackwardParameters& p, BackwardMemory<Shape>& memory,
                                  const OwnedTile& own, int warpgroup) {
  constexpr int kBytes = Shape::kQuerySums * 4;
  const std::int64_t query_begin = own.sequence(p).query_begin;
  for_each_tile(memory.group, [&](int number, int h, int tile) {
    const std::int64_t at = p.query_sums.layout.at(own.s, h, query_begin, tile) * 2 + warpgroup;
    float* const to = p.query_sums.sums + at * Shape::kQuerySums;
    std::int32_t* const next = p.query_sums.next + at;
    const int stage = number % Shape::kSumStages;
    barrier_wait(&memory.d_q_full[warpgroup][stage], number / Shape::kSumStages & 1);
    if (memory.group.follows(tile)) {
      wait_for_number(next, own.tile);
      add_floats(to, memory.d_q[warpgroup][stage], kBytes);
    } else {
      store_floats(to, memory.d_q[warpgroup][stage], kBytes);
    }
    copies_commit();
    copies_wait_read();
    barrier_arrive(&memory.d_q_empty[warpgroup][stage]);
    copies_wait();
    tell_number(next, own.tile + 1);
  });
}

}  // namespace attend::cuda
