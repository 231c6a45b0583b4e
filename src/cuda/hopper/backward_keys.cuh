// d_k and d_v of 128 keys, of one head of keys: tiles of queries go by, of every query head of the group in turn.
// Keys are the rows of every product,
//   S^T = K Q^T     dP^T = V dO^T     dV += P^T dO     dK += dS^T Q
// so that the weights and the gradients of the scores are the first operand of the next product as they are, in
// registers. Products are queued so that two of a warpgroup's are in flight while it makes weights out of a third.
#pragma once

#include "cuda/hopper/backward.cuh"

namespace attend::cuda {

// The tiles that go by: those of [begin, end), for each of `heads` query heads from `head` on; `last` is the number of
// the last of them all.
struct QueryTilesOfGroup {
  QueryTiles tiles;
  std::int32_t head, heads, last;
};

// What is looked up now and then is here, too: registers are what the loop is short of.
template <class Shape>
struct BackwardKeysMemory {
  static constexpr int kTileBytes = Shape::kQueries * Shape::kD * 2;
  alignas(1024) char k[Shape::kOwnedBytes];
  alignas(1024) char v[Shape::kOwnedBytes];
  alignas(1024) char queries[Shape::kQueryStages][2 * kTileBytes];  // of q, and of d_out
  alignas(16) float log2_sum[Shape::kQueryStages][Shape::kQueries];
  alignas(16) float delta[Shape::kQueryStages][Shape::kQueries];
  QueryTilesOfGroup group;
  SightOfKeys sight;
  OwnedTile own;
  std::int32_t strange;  // something was cleared
  std::uint64_t owned_full, full[Shape::kQueryStages], empty[Shape::kQueryStages];

  __device__ char* q(int stage) { return queries[stage]; }
  __device__ char* d_out(int stage) { return queries[stage] + kTileBytes; }
};

template <class Shape>
__device__ void fetch_for_keys(const BackwardParameters& p, BackwardKeysMemory<Shape>& memory, const OwnedTile& own) {
  const QueryTilesOfGroup& group = memory.group;
  const int sequence = p.backward.problem.packed != 0 ? 0 : own.s;
  const int key = static_cast<int>(own.sequence(p).key_begin) + own.first;
  const int first_row = static_cast<int>(own.sequence(p).query_begin);
  barrier_expect(&memory.owned_full, 2 * Shape::kOwnedBytes);
  copy_tile<Shape::kOwned, Shape::kChunks>(memory.k, &p.k, &memory.owned_full, key, own.h, sequence);
  copy_tile<Shape::kOwned, Shape::kChunks>(memory.v, &p.v, &memory.owned_full, key, own.h, sequence);
  int fetched = 0;
  for (int h = group.head; h < group.head + group.heads; ++h) {
    for (int tile = group.tiles.begin; tile < group.tiles.end; ++tile, ++fetched) {
      const int stage = fetched % Shape::kQueryStages, phase = (fetched / Shape::kQueryStages & 1) ^ 1;
      const int row = first_row + tile * Shape::kQueries;
      barrier_wait(&memory.empty[stage], phase);
      barrier_expect(&memory.full[stage], 2 * BackwardKeysMemory<Shape>::kTileBytes);
      copy_tile<Shape::kQueries, Shape::kChunks>(memory.q(stage), &p.q, &memory.full[stage], row, h, sequence);
      copy_tile<Shape::kQueries, Shape::kChunks>(memory.d_out(stage), &p.d_out, &memory.full[stage], row, h, sequence);
    }
  }
}

// A warp brings what is one number for each query. Those that do not exist get weights of 0.
template <class Shape>
__device__ void fetch_terms(const BackwardParameters& p, BackwardKeysMemory<Shape>& memory, const OwnedTile& own, int lane) {
  const QueryTilesOfGroup& group = memory.group;
  const RowTerms& rows = p.backward.rows;
  const float* sums = rows.log2_sum + rows.at(own.s, group.head, own.sequence(p).query_begin);
  const std::int64_t to_delta = rows.delta - rows.log2_sum;
  int tile = group.tiles.begin;
#pragma unroll 1
  for (int fetched = 0; fetched <= group.last; ++fetched) {
    const int stage = fetched % Shape::kQueryStages, phase = (fetched / Shape::kQueryStages & 1) ^ 1;
    barrier_wait(&memory.empty[stage], phase);
#pragma unroll 1
    for (int x = lane; x < Shape::kQueries; x += 32) {
      const int i = tile * Shape::kQueries + x;
      const bool exists = i < memory.sight.queries;
      memory.log2_sum[stage][x] = exists ? sums[i] : CUDART_INF_F;
      memory.delta[stage][x] = exists ? sums[i + to_delta] : 0.f;
    }
    barrier_arrive(&memory.full[stage]);
    if (++tile == group.tiles.end) {
      tile = group.tiles.begin;
      sums += rows.head;
    }
  }
}

template <class T, class Shape>
struct KeysConsumer {
  static constexpr int kD = Shape::kD, kQueries = Shape::kQueries, kStages = Shape::kQueryStages;
  using Memory = BackwardKeysMemory<Shape>;

  const BackwardParameters& p;
  Memory& memory;
  const int thread, warpgroup;
  float d_k[kD / 2], d_v[kD / 2], s[kQueries / 2], d_s[kQueries / 2];
  std::uint32_t rounded[kQueries / 4];  // weights, then the gradients of the scores

  __device__ KeysConsumer(const BackwardParameters& parameters, Memory& shared, int t, int w)
      : p(parameters), memory(shared), thread(t), warpgroup(w) {}

  __device__ __forceinline__ void multiply_queries(int stage) {
    const std::uint32_t k = shared_address(memory.k) + warpgroup * 64 * kRowBytes, q = shared_address(memory.q(stage));
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, s, row_operand(k, Shape::kOwned, step), row_operand(q, kQueries, step), step != 0);
  }
  __device__ __forceinline__ void multiply_d_out(int stage) {
    const std::uint32_t v = shared_address(memory.v) + warpgroup * 64 * kRowBytes,
                        d_out = shared_address(memory.d_out(stage));
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, d_s, row_operand(v, Shape::kOwned, step), row_operand(d_out, kQueries, step), step != 0);
  }
  __device__ __forceinline__ void add_d_v(int stage) {
    const std::uint32_t d_out = shared_address(memory.d_out(stage));
#pragma unroll
    for (int step = 0; step < kQueries / 16; ++step)
      multiply_registers(T{}, d_v, rounded + 4 * step, column_operand(d_out, kQueries, step), 1);
  }
  __device__ __forceinline__ void add_d_k(int stage) {
    const std::uint32_t q = shared_address(memory.q(stage));
#pragma unroll
    for (int step = 0; step < kQueries / 16; ++step)
      multiply_registers(T{}, d_k, rounded + 4 * step, column_operand(q, kQueries, step), 1);
  }

  __device__ __forceinline__ void round(const float (&sums)[kQueries / 2]) {
#pragma unroll
    for (int x = 0; x < kQueries / 4; ++x) rounded[x] = packed(T{}, sums[2 * x], sums[2 * x + 1]);
  }

  // Calls use(x, term) for every sum of the tile, with its query's number among `terms`.
  template <class Use>
  __device__ __forceinline__ void for_each(const float* terms, Use use) {
#pragma unroll
    for (int g = 0; g < kQueries / 8; ++g) {
      const float2 pair = *reinterpret_cast<const float2*>(terms + g * 8 + thread % 4 * 2);
      use(4 * g, pair.x);
      use(4 * g + 1, pair.y);
      use(4 * g + 2, pair.x);
      use(4 * g + 3, pair.y);
    }
  }

  // Zero for the pairs of a tile that do not see each other.
  __device__ __forceinline__ void hide(int tile, float (&sums)[kQueries / 2]) {
    const SightOfKeys& sight = memory.sight;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int key = memory.own.first + warpgroup * 64 + sum_row(thread, 2 * r);
      const int begin = sight.begin(key) - tile * kQueries, end = sight.end(key) - tile * kQueries;
#pragma unroll
      for (int e = 0; e < kQueries / 4; ++e) {
        const int x = sum_of_row(r, e), column = sum_column(thread, x);
        if (column < begin || column >= end) sums[x] = 0;
      }
    }
  }

  // A weight of 0 times NaN is NaN, so where pairs are hidden, rows of q and d_out must be numbers. Those that are
  // not become 0. A strange query makes its weights NaN and with them every gradient that it has part in; a strange
  // d_out does that to d_k, and mend() adds it to d_v.
  __device__ __forceinline__ void guard(int stage) {
    const int all = warpgroup * 128 + thread;
    if (!pair_any(3, has_strange<T>(memory.queries[stage], 2 * Memory::kTileBytes, all))) return;
    memory.strange = 1;
    clear_strange<T>(memory.queries[stage], 2 * Memory::kTileBytes, all);
    publish_to_products();
    pair_sync(4);
  }

  // The scores of this tile are there; at the end those of the next one are, or, at the last tile, its own again:
  // products under a condition would be made one after the other.
  template <bool kHidden>
  __device__ __forceinline__ void step(int tile, int taken) {
    const int stage = taken % kStages, after = min(taken + 1, memory.group.last), next = after % kStages;
    products_fence();
    multiply_d_out(stage);
    products_commit();
    for_each(memory.log2_sum[stage],
             [&](int x, float log2_sum) { s[x] = weight_of(s[x], p.log2_scale, log2_sum); });
    if constexpr (kHidden) {
      hide(tile, s);
      products_wait<0>();
      guard(stage);
    }
    round(s);
    products_fence();
    add_d_v(stage);
    products_commit();
    products_wait<1>();
    for_each(memory.delta[stage], [&](int x, float delta) { d_s[x] = s[x] * (d_s[x] - delta); });
    if constexpr (kHidden) hide(tile, d_s);
    barrier_wait(&memory.full[next], after / kStages & 1);
    products_fence();
    multiply_queries(next);
    products_commit();
    products_wait<1>();
    round(d_s);
    products_fence();
    add_d_k(stage);
    products_commit();
    products_wait<0>();
    if (thread == 0) barrier_arrive(&memory.empty[stage]);
  }

  __device__ __forceinline__ void compute() {
#pragma unroll
    for (int x = 0; x < kD / 2; ++x) d_k[x] = d_v[x] = 0;
    const QueryTiles& tiles = memory.group.tiles;
    if (memory.group.last < 0) return;
    barrier_wait(&memory.owned_full, 0);
    barrier_wait(&memory.full[0], 0);
    products_fence();
    multiply_queries(0);
    products_commit();
    products_wait<0>();
    int tile = tiles.begin;
#pragma unroll 1
    for (int taken = 0; taken <= memory.group.last; ++taken) {
      if (tile >= tiles.all_begin && tile < tiles.all_end) {
        step<false>(tile, taken);
      } else {
        step<true>(tile, taken);
      }
      if (++tile == tiles.end) tile = tiles.begin;
    }
  }

  // Adds what is no number to a d_v that is stored already: two threads a key, each its own columns.
  __device__ __forceinline__ void mend(const OwnedTile& own) {
    pair_sync(4);  // the row was stored by others
    const BackwardProblem& b = p.backward;
    const Sequence at = own.sequence(p);
    const std::int64_t key = own.first + warpgroup * 64 + thread / 2;
    if (key >= min(at.keys, at.key_count) || b.d_v.data == nullptr) return;
    const QuerySpan span = queries_of(own.visible(p), key, key + 1, at.queries);
    char* const to = const_cast<char*>(Head::row_of(b.d_v, own.s, own.h, at.key_begin + key));
    const QueryTilesOfGroup& group = memory.group;
    for (int h = group.head; h < group.head + group.heads; ++h) {
      for (std::int64_t i = span.begin; i < span.end; ++i) {
        const char* const row = Head::row_of(b.d_out, own.s, h, at.query_begin + i);
        for (std::int64_t c = thread % 2; c < b.problem.dv; c += 2) {
          const float value = load_float(row, b.d_out.number, c * b.d_out.element);
          if (!isfinite(value))
            store_float(to, b.d_v.number, c * b.d_v.element,
                        load_float(to, b.d_v.number, c * b.d_v.element) + value);
        }
      }
    }
  }
};

template <class T, class Shape>
__global__ void __launch_bounds__(384, 1) backward_keys_kernel(const __grid_constant__ BackwardParameters p) {
  extern __shared__ char raw[];
  auto& memory = *reinterpret_cast<BackwardKeysMemory<Shape>*>((reinterpret_cast<std::uintptr_t>(raw) + 1023) &
                                                               ~std::uintptr_t{1023});
  const Problem& problem = p.backward.problem;
  const OwnedTile own(p, problem.heads / problem.group);
  if (own.first >= own.sequence(p).keys) return;
  if (threadIdx.x == 0) {
    memory.sight = SightOfKeys::of(own.visible(p), own.sequence(p).queries);
    memory.own = own;
    memory.strange = 0;
    const QueryTiles tiles =
        QueryTiles::of(own.visible(p), own.first, own.sequence(p).queries, Shape::kOwned, Shape::kQueries);
    memory.group = {tiles, own.h * problem.group, problem.group, tiles.count() * problem.group - 1};
    barrier_init(&memory.owned_full, 1);
    for (int i = 0; i < Shape::kQueryStages; ++i) {
      barrier_init(&memory.full[i], 1 + 32);
      barrier_init(&memory.empty[i], 2);
    }
    barriers_ready();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kFetching>();
    if (memory.group.last < 0) return;
    if (threadIdx.x == 0) fetch_for_keys<Shape>(p, memory, own);
    if (threadIdx.x / 32 == 1) fetch_terms<Shape>(p, memory, own, threadIdx.x % 32);
  } else {
    take_registers<Shape::kComputing>();
    const int warpgroup = uniform(threadIdx.x / 128) - 1;
    KeysConsumer<T, Shape> consumer(p, memory, threadIdx.x % 128, warpgroup);
    consumer.compute();
    const OwnedTile own = memory.own;
    const std::int64_t first = own.first + warpgroup * 64;
    const Sequence at = own.sequence(p);
    const BackwardProblem& b = p.backward;
    store_sums<T, Shape::kD>(consumer.d_k, consumer.thread, b.d_k, p.store_k, own.s, own.h, at.key_begin, first,
                             at.key_count, at.keys, problem.d, problem.scale);
    store_sums<T, Shape::kD>(consumer.d_v, consumer.thread, b.d_v, p.store_v, own.s, own.h, at.key_begin, first,
                             at.key_count, at.keys, problem.dv, 1);
    if (memory.strange != 0) consumer.mend(own);
  }
}

template <class Shape>
void launch_backward_keys(plugin::Place place, const BackwardParameters& parameters) {
  constexpr int kBytes = sizeof(BackwardKeysMemory<Shape>) + 1024;
  const auto launch = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
          "get shared memory for the gradients of keys");
    kernel<<<static_cast<unsigned>(parameters.tiles * parameters.rows), 384, kBytes,
             static_cast<cudaStream_t>(place.stream)>>>(parameters);
    check(cudaGetLastError(), "launch the gradients of keys");
  };
  if (parameters.backward.problem.q.number == Number::f16) return launch(backward_keys_kernel<__half, Shape>);
  launch(backward_keys_kernel<__nv_bfloat16, Shape>);
}

}  // namespace attend::cuda
