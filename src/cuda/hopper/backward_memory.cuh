// The shared memory of a block of the fast backward pass, and the warps that fill it: one thread has tiles
// copied, a warp brings the numbers of rows, one thread adds what has been found for d_q to the sums in
// memory, and another one finds out when it may.
#pragma once

#include "cuda/hopper/backward.cuh"

namespace attend::cuda {

// What is looked up now and then is here, too: registers are what the loop is short of.
template <class Shape>
struct BackwardMemory {
  static constexpr int kTurns = 2;  // so many tiles ahead it is asked whose turn it is
  alignas(1024) char k[Shape::kKeyBytes];
  alignas(1024) char v[Shape::kKeyBytes];
  alignas(1024) char q[Shape::kQueryStages][Shape::kQueryBytes];
  alignas(1024) char d_out[Shape::kOutStages][Shape::kQueryBytes];
  alignas(1024) char d_s[2][kOwnedKeys * Shape::kQueries * 2];  // keys by queries, 64 queries after the other
  alignas(1024) float d_q[Shape::kSumStages][2][Shape::kQuerySums];  // of each warpgroup
  alignas(16) float log2_sum[Shape::kQueryStages][Shape::kQueries];
  alignas(16) float delta[Shape::kQueryStages][Shape::kQueries];
  QueryTilesOfGroup group;
  SightOfKeys sight;
  OwnedTile own;
  float* sums;                 // of d_q: those of the first query head of the group, and where
  std::int32_t* next;          // it is told who may add
  std::int32_t tiles_of_head;  // in both
  std::int32_t number;         // of the block
  std::int32_t strange;        // something of d_out was cleared
  char strange_key[kOwnedKeys];
  std::uint64_t keys_full, q_full[Shape::kQueryStages], q_empty[Shape::kQueryStages];
  std::uint64_t d_out_full[Shape::kOutStages], d_out_empty[Shape::kOutStages];
  std::uint64_t d_s_full, d_q_full[Shape::kSumStages], d_q_empty[Shape::kSumStages];
  std::uint64_t turn_has_come[kTurns], turn_is_taken[kTurns];

  __device__ __forceinline__ std::int32_t sum_of(int h, int tile) const {
    return (h - group.head) * tiles_of_head + tile;
  }
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
    for (int i = 0; i < Shape::kSumStages; ++i) {
      barrier_init(&d_q_full[i], kWarps);
      barrier_init(&d_q_empty[i], 1);
    }
    for (int i = 0; i < kTurns; ++i) {
      barrier_init(&turn_has_come[i], 1);
      barrier_init(&turn_is_taken[i], 1);
    }
    barriers_ready();
  }
};

// Calls use(number, query head, tile) for each tile that goes by. All heads of a tile before the next one:
// were it the other way round, a block would wait at the end of each head for the one of the keys before,
// which sees more.
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

// What this block adds to a tile of queries waits for its turn. To ask takes some 900 cycles, to add 1,200
// and to tell the next one 1,500, of 4,000 that a tile takes: one thread that does it all is what the
// products then wait for. So one thread asks ahead,
template <class Shape>
__device__ void await_turns(BackwardMemory<Shape>& memory) {
  for_each_tile(memory.group, [&](int number, int h, int tile) {
    const int slot = number % memory.kTurns;
    barrier_wait(&memory.turn_is_taken[slot], (number / memory.kTurns & 1) ^ 1);
    if (memory.group.follows(tile)) wait_for_number(memory.next + memory.sum_of(h, tile), memory.own.tile);
    barrier_arrive(&memory.turn_has_come[slot]);
  });
}

// and one adds, and tells. The first block to add stores, so that nobody has to clear the sums.
template <class Shape>
__device__ void add_to_query_sums(BackwardMemory<Shape>& memory) {
  constexpr int kFloats = 2 * Shape::kQuerySums;
  for_each_tile(memory.group, [&](int number, int h, int tile) {
    const int stage = number % Shape::kSumStages, slot = number % memory.kTurns;
    barrier_wait(&memory.d_q_full[stage], number / Shape::kSumStages & 1);
    barrier_wait(&memory.turn_has_come[slot], number / memory.kTurns & 1);
    barrier_arrive(&memory.turn_is_taken[slot]);
    float* const to = memory.sums + std::int64_t{memory.sum_of(h, tile)} * kFloats;
    if (memory.group.follows(tile)) {
      add_floats(to, memory.d_q[stage], kFloats * 4);
    } else {
      store_floats(to, memory.d_q[stage], kFloats * 4);
    }
    copies_commit();
    copies_wait_read();
    barrier_arrive(&memory.d_q_empty[stage]);
    copies_wait();
    tell_number(memory.next + memory.sum_of(h, tile), memory.own.tile + 1);
  });
}

}  // namespace attend::cuda
