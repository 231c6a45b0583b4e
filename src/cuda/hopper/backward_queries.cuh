// d_q of 128 queries: tiles of keys go by, as in the forward pass.
//   S = Q K^T     dP = dO V^T     dQ += dS K
#pragma once

#include "cuda/hopper/backward.cuh"

namespace attend::cuda {

template <class Shape>
struct BackwardQueriesMemory {
  static constexpr int kTileBytes = Shape::kKeys * Shape::kD * 2;
  alignas(1024) char q[Shape::kOwnedBytes];
  alignas(1024) char d_out[Shape::kOwnedBytes];
  alignas(1024) char k[Shape::kKeyStages][kTileBytes];
  alignas(1024) char v[Shape::kKeyStages][kTileBytes];
  std::uint64_t owned_full, full[Shape::kKeyStages], empty[Shape::kKeyStages];
};

template <class Shape>
__device__ void fetch_for_queries(const BackwardParameters& p, BackwardQueriesMemory<Shape>& memory,
                                  const OwnedTile& own, const KeyTiles& tiles) {
  const int sequence = p.backward.problem.packed != 0 ? 0 : own.s, key_head = own.h / p.backward.problem.group;
  const int row = static_cast<int>(own.sequence(p).query_begin) + own.first;
  const int first_key = static_cast<int>(own.sequence(p).key_begin);
  barrier_expect(&memory.owned_full, 2 * Shape::kOwnedBytes);
  copy_tile<Shape::kOwned, Shape::kChunks>(memory.q, &p.q, &memory.owned_full, row, own.h, sequence);
  copy_tile<Shape::kOwned, Shape::kChunks>(memory.d_out, &p.d_out, &memory.owned_full, row, own.h, sequence);
  for (int tile = tiles.begin; tile < tiles.end; ++tile) {
    const int fetched = tile - tiles.begin;
    const int stage = fetched % Shape::kKeyStages, phase = (fetched / Shape::kKeyStages & 1) ^ 1;
    const int key = first_key + tile * Shape::kKeys;
    barrier_wait(&memory.empty[stage], phase);
    barrier_expect(&memory.full[stage], 2 * BackwardQueriesMemory<Shape>::kTileBytes);
    copy_tile<Shape::kKeys, Shape::kChunks>(memory.k[stage], &p.k, &memory.full[stage], key, key_head, sequence);
    copy_tile<Shape::kKeys, Shape::kChunks>(memory.v[stage], &p.v, &memory.full[stage], key, key_head, sequence);
  }
}

template <class T, class Shape>
struct QueriesConsumer {
  static constexpr int kD = Shape::kD, kKeys = Shape::kKeys, kStages = Shape::kKeyStages;
  using Memory = BackwardQueriesMemory<Shape>;

  const BackwardParameters& p;
  Memory& memory;
  const int thread, warpgroup;
  float d_q[kD / 2], s[kKeys / 2], weights[kKeys / 2], d_s[kKeys / 2], log2_sum[2], delta[2];
  std::uint32_t changes[kKeys / 4];

  __device__ QueriesConsumer(const BackwardParameters& parameters, Memory& shared, int t, int w)
      : p(parameters), memory(shared), thread(t), warpgroup(w) {}

  __device__ __forceinline__ void multiply_keys(int stage) {
    const std::uint32_t q = shared_address(memory.q) + warpgroup * 64 * kRowBytes, k = shared_address(memory.k[stage]);
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, s, row_operand(q, Shape::kOwned, step), row_operand(k, kKeys, step), step != 0);
  }
  __device__ __forceinline__ void multiply_values(int stage) {
    const std::uint32_t d_out = shared_address(memory.d_out) + warpgroup * 64 * kRowBytes,
                        v = shared_address(memory.v[stage]);
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, d_s, row_operand(d_out, Shape::kOwned, step), row_operand(v, kKeys, step), step != 0);
  }
  __device__ __forceinline__ void add_d_q(int stage) {
    const std::uint32_t k = shared_address(memory.k[stage]);
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step)
      multiply_registers(T{}, d_q, changes + 4 * step, column_operand(k, kKeys, step), 1);
  }

  __device__ __forceinline__ void hide(const OwnedTile& own, int tile, float (&sums)[kKeys / 2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = own.first + warpgroup * 64 + sum_row(thread, 2 * r), first = std::int64_t{tile} * kKeys;
      const KeySpan span = own.visible(p).keys_of(i);
      const int begin = static_cast<int>(max(span.begin - first, std::int64_t{0})),
                end = static_cast<int>(min(span.end - first, std::int64_t{kKeys}));
#pragma unroll
      for (int e = 0; e < kKeys / 4; ++e) {
        const int x = sum_of_row(r, e), column = sum_column(thread, x);
        if (column < begin || column >= end) sums[x] = 0;
      }
    }
  }

  // As in backward_keys.cuh: a strange key makes the weights of those who see it NaN, and 0 takes its place for the
  // others. Both warpgroups have their scores by now.
  __device__ __forceinline__ void guard(int stage) {
    const int all = warpgroup * 128 + thread;
    if (!pair_any(3, has_strange<T>(memory.k[stage], Memory::kTileBytes, all))) return;
    clear_strange<T>(memory.k[stage], Memory::kTileBytes, all);
    publish_to_products();
    pair_sync(4);
  }

  // As in backward_keys.cuh. The scores of the next tile are in flight while the gradients of these are made.
  template <bool kHidden>
  __device__ __forceinline__ void step(const OwnedTile& own, int tile, int taken, int last) {
    const int stage = taken % kStages, after = min(taken + 1, last), next = after % kStages;
    products_fence();
    multiply_values(stage);
    products_commit();
#pragma unroll
    for (int x = 0; x < kKeys / 2; ++x) weights[x] = weight_of(s[x], p.log2_scale, log2_sum[x >> 1 & 1]);
    barrier_wait(&memory.full[next], after / kStages & 1);
    products_fence();
    multiply_keys(next);
    products_commit();
    products_wait<1>();
#pragma unroll
    for (int x = 0; x < kKeys / 2; ++x) d_s[x] = weights[x] * (d_s[x] - delta[x >> 1 & 1]);
    if constexpr (kHidden) {
      hide(own, tile, d_s);
      guard(stage);
    }
#pragma unroll
    for (int x = 0; x < kKeys / 4; ++x) changes[x] = packed(T{}, d_s[2 * x], d_s[2 * x + 1]);
    products_fence();
    add_d_q(stage);
    products_commit();
    products_wait<0>();
    if (thread == 0) barrier_arrive(&memory.empty[stage]);
  }

  __device__ __forceinline__ void compute(const OwnedTile& own, const KeyTiles& tiles) {
#pragma unroll
    for (int x = 0; x < kD / 2; ++x) d_q[x] = 0;
    if (tiles.count() == 0) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = own.first + warpgroup * 64 + sum_row(thread, 2 * r);
      const RowTerms& rows = p.backward.rows;
      const Sequence at = own.sequence(p);
      const std::int64_t row = rows.at(own.s, own.h, at.query_begin + i);
      log2_sum[r] = i < at.queries ? rows.log2_sum[row] : CUDART_INF_F;
      delta[r] = i < at.queries ? rows.delta[row] : 0.f;
    }
    barrier_wait(&memory.owned_full, 0);
    barrier_wait(&memory.full[0], 0);
    products_fence();
    multiply_keys(0);
    products_commit();
    products_wait<0>();
    const int last = tiles.count() - 1;
    int taken = 0;
#pragma unroll 1
    for (int part = 0; part < 3; ++part) {  // hidden on the left, open, hidden on the right
      if (part == 1) {
#pragma unroll 1
        for (int tile = tiles.all_begin; tile < tiles.all_end; ++tile, ++taken) step<false>(own, tile, taken, last);
      } else {
        const int begin = part == 0 ? tiles.begin : tiles.all_end, end = part == 0 ? tiles.all_begin : tiles.end;
#pragma unroll 1
        for (int tile = begin; tile < end; ++tile, ++taken) step<true>(own, tile, taken, last);
      }
    }
  }
};

template <class T, class Shape>
__global__ void __launch_bounds__(384, 1) backward_queries_kernel(const __grid_constant__ BackwardParameters p) {
  extern __shared__ char raw[];
  auto& memory = *reinterpret_cast<BackwardQueriesMemory<Shape>*>((reinterpret_cast<std::uintptr_t>(raw) + 1023) &
                                                                  ~std::uintptr_t{1023});
  const Problem& problem = p.backward.problem;
  OwnedTile own(p, problem.heads);
  if (p.by_tile != 0) own.first = (p.tiles - 1) * 128 - own.first;  // later queries see more
  const std::int64_t queries = own.sequence(p).queries;
  if (own.first >= queries) return;
  const KeyTiles found = KeyTiles::of(own.visible(p), own.first, min(std::int64_t{own.first} + Shape::kOwned, queries) - 1,
                                      Shape::kOwned, Shape::kKeys);
  const KeyTiles tiles{uniform(found.begin), uniform(found.all_begin), uniform(found.all_end), uniform(found.end)};
  if (threadIdx.x == 0) {
    barrier_init(&memory.owned_full, 1);
    for (int i = 0; i < Shape::kKeyStages; ++i) {
      barrier_init(&memory.full[i], 1);
      barrier_init(&memory.empty[i], 2);
    }
    barriers_ready();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<24>();
    if (threadIdx.x == 0 && tiles.count() > 0) fetch_for_queries<Shape>(p, memory, own, tiles);
  } else {
    take_registers<240>();
    const int warpgroup = uniform(threadIdx.x / 128) - 1;
    QueriesConsumer<T, Shape> consumer(p, memory, threadIdx.x % 128, warpgroup);
    consumer.compute(own, tiles);
    const Sequence at = own.sequence(p);
    store_sums<T, Shape::kD>(consumer.d_q, consumer.thread, p.backward.d_q, p.store_q, own.s, own.h, at.query_begin,
                             own.first + warpgroup * 64, at.queries, at.queries, problem.d, problem.scale);
  }
}

template <class Shape>
void launch_backward_queries(plugin::Place place, const BackwardParameters& parameters) {
  constexpr int kBytes = sizeof(BackwardQueriesMemory<Shape>) + 1024;
  const auto launch = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
          "get shared memory for the gradient of the queries");
    kernel<<<static_cast<unsigned>(parameters.tiles * parameters.rows), 384, kBytes,
             static_cast<cudaStream_t>(place.stream)>>>(parameters);
    check(cudaGetLastError(), "launch the gradient of the queries");
  };
  if (parameters.backward.problem.q.number == Number::f16) return launch(backward_queries_kernel<__half, Shape>);
  launch(backward_queries_kernel<__nv_bfloat16, Shape>);
}

}  // namespace attend::cuda
