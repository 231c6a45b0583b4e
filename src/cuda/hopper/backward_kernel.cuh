// d_k and d_v of 128 keys, of one head of keys, and their part of d_q: tiles of queries go by, of every query
// head of the group in turn. Keys are the rows of four of the five products,
//   S^T = K Q^T     dP^T = V dO^T     dV += P^T dO     dK += dS^T Q     dQ = dS K
// so that the weights and the gradients of the scores are the first operand of the next product as they are,
// in registers. For the last one dS goes through shared memory, where each warpgroup finds those of the
// other.
//
// While d_v is added to, the gradients of scores are made; the three products after them are in flight
// together.
#pragma once

#include "cuda/hopper/backward_memory.cuh"

namespace attend::cuda {

template <class T, class Shape>
struct BackwardConsumer {
  static constexpr int kD = Shape::kD, kQueries = Shape::kQueries;
  using Memory = BackwardMemory<Shape>;

  const BackwardParameters& p;
  Memory& memory;
  const int thread, warpgroup;
  // What a product begins anew is declared where it does: a product takes its sums for read, and what is
  // written there before would be kept for it, in registers that there are not.
  using Scores = float[kQueries / 2];
  using Rounded = std::uint32_t[kQueries / 4];
  using QuerySumsOfThread = float[Shape::kQuerySums / 128];
  float d_k[kD / 2], d_v[kD / 2];

  __device__ BackwardConsumer(const BackwardParameters& parameters, Memory& shared, int t, int w)
      : p(parameters), memory(shared), thread(t), warpgroup(w) {}

  // What follows from it is not to be computed ahead of the loop and kept.
  __device__ __forceinline__ static int own_thread() {
    int number;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(number));
    return number % 128;
  }
  // Nor this.
  __device__ __forceinline__ static Operand now(Operand operand) {
    asm volatile("" : "+r"(operand.low));
    return operand;
  }
  __device__ __forceinline__ static Operand rows(const char* tile) {
    return now(Operand::of_rows(shared_address(tile)));
  }
  __device__ __forceinline__ static Operand columns(const char* tile, int rows) {
    return now(Operand::of_columns(shared_address(tile), rows));
  }

  __device__ __forceinline__ void multiply_queries(Scores& s, int stage) {
    const Operand k = rows(memory.k + warpgroup * 64 * kRowBytes), q = rows(memory.q[stage]);
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, s, k.row_step(kOwnedKeys, step), q.row_step(kQueries, step), step != 0);
  }
  __device__ __forceinline__ void multiply_d_out(Scores& d_s, int stage) {
    const Operand v = rows(memory.v + warpgroup * 64 * kRowBytes), d_out = rows(memory.d_out[stage]);
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, d_s, v.row_step(kOwnedKeys, step), d_out.row_step(kQueries, step), step != 0);
  }
  __device__ __forceinline__ void add_d_v(const Rounded& weights, int stage) {
    const Operand d_out = columns(memory.d_out[stage], kQueries);
#pragma unroll
    for (int step = 0; step < kQueries / 16; ++step)
      multiply_registers(T{}, d_v, weights + 4 * step, d_out.column_step(step), 1);
  }
  __device__ __forceinline__ void add_d_k(const Rounded& changes, int stage) {
    const Operand q = columns(memory.q[stage], kQueries);
#pragma unroll
    for (int step = 0; step < kQueries / 16; ++step)
      multiply_registers(T{}, d_k, changes + 4 * step, q.column_step(step), 1);
  }
  // Half of the queries with all columns of k, or all of them with half of the columns.
  __device__ __forceinline__ void multiply_changes(QuerySumsOfThread& d_q, int buffer) {
    const int half = warpgroup * kOwnedKeys * kRowBytes;
    const Operand changed = columns(memory.d_s[buffer] + (Shape::kQueryChunks == 2 ? half : 0), kOwnedKeys),
                  k = columns(memory.k + (Shape::kChunks == 2 ? half : 0), kOwnedKeys);
#pragma unroll
    for (int step = 0; step < kOwnedKeys / 16; ++step)
      multiply_columns(T{}, d_q, changed.column_step(step), k.column_step(step), step != 0);
  }

  __device__ __forceinline__ void round(const Scores& sums, Rounded& to) {
#pragma unroll
    for (int x = 0; x < kQueries / 4; ++x) to[x] = packed(T{}, sums[2 * x], sums[2 * x + 1]);
  }

  // Calls use(x, term) for every sum of the tile, with its query's number among `terms`.
  template <class Use>
  __device__ __forceinline__ void for_each(const float* terms, Use use) {
    terms += own_thread() % 4 * 2;
#pragma unroll
    for (int g = 0; g < kQueries / 8; ++g) {
      const float2 pair = *reinterpret_cast<const float2*>(terms + g * 8);
      use(4 * g, pair.x);
      use(4 * g + 1, pair.y);
      use(4 * g + 2, pair.x);
      use(4 * g + 3, pair.y);
    }
  }

  // Calls use(r, begin, end) for each of a thread's two keys: which columns of a tile see it, counted from
  // the first column of the thread, so that a sum's own is a number that the compiler knows.
  template <class Use>
  __device__ __forceinline__ void for_each_key(int tile, Use use) {
    const SightOfKeys& sight = memory.sight;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int key = memory.own.first + warpgroup * 64 + sum_row(thread, 2 * r),
                before = tile * kQueries + thread % 4 * 2;
      use(r, sight.begin(key) - before, sight.end(key) - before);
    }
  }
  // Zero for the pairs of a tile that do not see each other. Of the others, NaN for strange keys.
  __device__ __forceinline__ void hide(int tile, Scores& weights) {
    for_each_key(tile, [&](int r, int begin, int end) {
      const bool strange = memory.strange_key[warpgroup * 64 + sum_row(thread, 2 * r)] != 0;
#pragma unroll
      for (int e = 0; e < kQueries / 4; ++e) {
        const int x = sum_of_row(r, e), column = sum_column(0, x);
        if (strange) weights[x] = CUDART_NAN_F;
        if (column < begin || column >= end) weights[x] = 0;
      }
    });
  }
  // The same for what is rounded, two queries in one register: 0 times NaN is not 0.
  __device__ __forceinline__ void hide(int tile, Rounded& changes) {
    for_each_key(tile, [&](int r, int begin, int end) {
#pragma unroll
      for (int e = 0; e < kQueries / 4; e += 2) {
        const int x = sum_of_row(r, e), column = sum_column(0, x);
        if (column < begin || column >= end) changes[x / 2] &= 0xFFFF0000u;
        if (column + 1 < begin || column + 1 >= end) changes[x / 2] &= 0x0000FFFFu;
      }
    });
  }

  // A weight of 0 times NaN is NaN, so where pairs are hidden, rows of q and d_out must be numbers. Those
  // that are not become 0. A strange query makes its weights NaN and with them every gradient that it has
  // part in; a strange d_out does that to d_k, and mend() adds it to d_v. Both warpgroups have made their
  // products with these rows.
  __device__ __forceinline__ void guard(int q_stage, int d_out_stage) {
    const int all = warpgroup * 128 + thread;
    char *const q = memory.q[q_stage], *const d_out = memory.d_out[d_out_stage];
    const bool found =
        has_strange<T>(q, Shape::kQueryBytes, all) || has_strange<T>(d_out, Shape::kQueryBytes, all);
    if (!pair_any(3, found)) return;
    memory.strange = 1;
    clear_strange<T>(q, Shape::kQueryBytes, all);
    clear_strange<T>(d_out, Shape::kQueryBytes, all);
    publish_to_products();
    pair_sync(4);
  }

  // Rows of k and v that are no keys of this sequence become 0, and with them what they add to d_q. Strange
  // keys become 0, too, for the queries that do not see them, and are remembered: their weights are no
  // numbers, and no tile is taken for open.
  __device__ __forceinline__ void prepare_keys() {
    constexpr int kChunkBytes = kOwnedKeys * kRowBytes;
    const int all = warpgroup * 128 + thread, row = all / 2,
              count = memory.sight.key_count - memory.own.first;
    if (count < kOwnedKeys) {
      if (row >= count) {
        for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
          for (int x = all % 2 * 4; x < all % 2 * 4 + 4; ++x) {
            const int at = chunk * kChunkBytes + row * kRowBytes + x * 16;
            *reinterpret_cast<uint4*>(memory.k + at) = make_uint4(0, 0, 0, 0);
            *reinterpret_cast<uint4*>(memory.v + at) = make_uint4(0, 0, 0, 0);
          }
        }
      }
      publish_to_products();
      pair_sync(4);
    }
    if (!pair_any(3, has_strange<T>(memory.k, Shape::kKeyBytes, all))) return;
    memory.group.tiles.all_begin = memory.group.tiles.all_end = memory.group.tiles.begin;
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
      char* const at = memory.k + chunk * kChunkBytes + row * kRowBytes + all % 2 * 64;
      bool found = false;
      for (int x = 0; x < 4; ++x) found = found || has_strange<T>(at + x * 16, 16, 0);
      if (!found) continue;
      memory.strange_key[row] = 1;
      for (int x = 0; x < 4; ++x) clear_strange<T>(at + x * 16, 16, 0);
    }
    publish_to_products();
    pair_sync(4);
  }

  __device__ __forceinline__ void hand_over_d_q(const QuerySumsOfThread& d_q, int number) {
    const int stage = number % Shape::kSumStages;
    barrier_wait(&memory.d_q_empty[stage], (number / Shape::kSumStages & 1) ^ 1);
    float4* const to = reinterpret_cast<float4*>(memory.d_q[stage][warpgroup]) + own_thread();
#pragma unroll
    for (int x = 0; x < 8; ++x)
      to[x * 128] = make_float4(d_q[4 * x], d_q[4 * x + 1], d_q[4 * x + 2], d_q[4 * x + 3]);
    publish_to_products();
    __syncwarp();
    if (thread % 32 == 0) barrier_arrive(&memory.d_q_full[stage]);
  }

  __device__ __forceinline__ void hand_over_changes(const Rounded& changes, int buffer) {
    char* const to = memory.d_s[buffer];
    const int own = own_thread();
#pragma unroll
    for (int step = 0; step < kQueries / 16; ++step) {
      const int at = step / 4 * kOwnedKeys * kRowBytes +
                     swizzled(warpgroup * 64 + stored_row(own), stored_piece(own, step % 4));
      store_matrices(shared_address(to) + at, changes + 4 * step);
    }
    publish_to_products();
    __syncwarp();
    if (thread % 32 == 0) barrier_arrive(&memory.d_s_full);
  }

  // q and d_out of this tile.
  __device__ __forceinline__ void release(int number) {
    if (thread == 0) {
      barrier_arrive(&memory.q_empty[number % Shape::kQueryStages]);
      barrier_arrive(&memory.d_out_empty[number % Shape::kOutStages]);
    }
  }

  __device__ __forceinline__ void weigh(Scores& s, int stage) {
    for_each(memory.log2_sum[stage],
             [&](int x, float log2_sum) { s[x] = weight_of(s[x], p.log2_scale, log2_sum); });
  }

  // The weights of this tile are there; at the end those of the next one are, or, at the last tile, something
  // of its own again: products under a condition would be made one after the other. hidden: somebody of the
  // two tiles does not see somebody.
  __device__ __forceinline__ void step(Scores& s, int tile, int after_tile, int number, bool hidden) {
    const int after = min(number + 1, memory.group.last);
    const int stage = number % Shape::kQueryStages, next = after % Shape::kQueryStages,
              out = number % Shape::kOutStages;
    barrier_wait(&memory.d_out_full[out], number / Shape::kOutStages & 1);
    products_fence();
    Scores d_s;
    multiply_d_out(d_s, out);
    products_commit();
    if (hidden) {
      products_wait<0>();
      guard(stage, out);
    }
    Rounded weights, changes;
    round(s, weights);
    products_fence();
    add_d_v(weights, out);
    products_commit();
    products_wait<1>();
    for_each(memory.delta[stage], [&](int x, float delta) { d_s[x] = s[x] * (d_s[x] - delta); });
    round(d_s, changes);
    if (hidden) hide(tile, changes);
    // Two buffers: the other warpgroup has come to the changes before these only after its product with those
    // that were in this one.
    hand_over_changes(changes, number & 1);
    products_wait<0>();
    barrier_wait(&memory.q_full[next], after / Shape::kQueryStages & 1);
    products_fence();
    Scores scores;
    multiply_queries(scores, next);
    products_commit();
    add_d_k(changes, stage);
    products_commit();
    barrier_wait(&memory.d_s_full, number & 1);
    products_fence();
    QuerySumsOfThread d_q;
    multiply_changes(d_q, number & 1);
    products_commit();
    products_wait<Shape::kProductsLeft>();
    weigh(scores, next);
    products_wait<0>();
    release(number);
    hand_over_d_q(d_q, number);
    if (hidden) hide(after_tile, scores);
#pragma unroll
    for (int x = 0; x < kQueries / 2; ++x) s[x] = scores[x];
  }

  __device__ __forceinline__ void compute() {
#pragma unroll
    for (int x = 0; x < kD / 2; ++x) d_k[x] = d_v[x] = 0;
    const QueryTilesOfGroup& group = memory.group;
    if (group.last < 0) return;
    barrier_wait(&memory.keys_full, 0);
    prepare_keys();
    barrier_wait(&memory.q_full[0], 0);
    products_fence();
    Scores s;
    multiply_queries(s, 0);
    products_commit();
    products_wait<0>();
    int tile = group.tiles.end - 1, head = 0;
    weigh(s, 0);
    hide(tile, s);
#pragma unroll 1
    for (int number = 0; number <= group.last; ++number) {
      int after = tile;
      if (++head == group.heads) {
        head = 0;
        after = max(tile - 1, group.tiles.begin);
      }
      step(s, tile, after, number, after < group.tiles.all_begin || tile >= group.tiles.all_end);
      tile = after;
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
__global__ void __launch_bounds__(384, 1) backward_kernel(const __grid_constant__ BackwardParameters p) {
  extern __shared__ char raw[];
  // Counted from `raw`, not rounded up as a number: else the compiler no longer knows that it is shared
  // memory, and has addresses of two registers.
  auto& memory = *reinterpret_cast<BackwardMemory<Shape>*>(raw + (-shared_address(raw) & 1023));
  const Problem& problem = p.backward.problem;
  if (threadIdx.x == 0) {
    memory.number = atomicAdd(p.query_sums.begun, 1);
    memory.make_barriers();
  }
  if (threadIdx.x < kOwnedKeys) memory.strange_key[threadIdx.x] = 0;
  __syncthreads();
  const OwnedTile own(p, memory.number);
  if (own.first >= own.sequence(p).keys) return;
  if (threadIdx.x == 0) {
    memory.sight = SightOfKeys::of(own.visible(p), own.sequence(p).queries);
    memory.own = own;
    memory.strange = 0;
    const QuerySumsLayout& layout = p.query_sums.layout;
    const std::int64_t sums = layout.at(own.s, own.h * problem.group, own.sequence(p).query_begin, 0);
    memory.sums = p.query_sums.sums + sums * 2 * Shape::kQuerySums;
    memory.next = p.query_sums.next + sums;
    memory.tiles_of_head = static_cast<std::int32_t>(layout.tiles_of_head);
    memory.group = QueryTilesOfGroup::of(own.visible(p), own.first, own.sequence(p).queries, kOwnedKeys,
                                         Shape::kQueries, own.h * problem.group, problem.group);
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kFetching>();
    if (memory.group.last < 0) return;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // These first, and with ends of their own: in another order a register of a head size of 64 spills.
    if (warp == 2 && lane == 0) {
      add_to_query_sums<Shape>(memory);
      return;
    }
    if (warp == 3 && lane == 0) {
      await_turns<Shape>(memory);
      return;
    }
    if (warp >= 2) return;
    if (warp == 0 && lane == 0) fetch_tiles<Shape>(p, memory, memory.own);
    if (warp == 1) fetch_terms<Shape>(p, memory, memory.own, lane);
  } else {
    take_registers<Shape::kComputing>();
    const int warpgroup = uniform(threadIdx.x / 128) - 1;
    BackwardConsumer<T, Shape> consumer(p, memory, threadIdx.x % 128, warpgroup);
    consumer.compute();
    const OwnedTile own = memory.own;
    const std::int64_t first = own.first + warpgroup * 64;
    const Sequence at = own.sequence(p);
    const BackwardProblem& b = p.backward;
    store_sums<T, Shape::kD>(consumer.d_k, consumer.thread, b.d_k, p.store_k, own.s, own.h, at.key_begin,
                             first, at.key_count, at.keys, problem.d, problem.scale);
    store_sums<T, Shape::kD>(consumer.d_v, consumer.thread, b.d_v, p.store_v, own.s, own.h, at.key_begin,
                             first, at.key_count, at.keys, problem.dv, 1);
    if (memory.strange != 0) consumer.mend(own);
  }
}

template <class Shape>
void launch_backward(plugin::Place place, const BackwardParameters& parameters) {
  constexpr int kBytes = sizeof(BackwardMemory<Shape>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto launch = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
          "get shared memory for the gradients of attention");
    kernel<<<static_cast<unsigned>(parameters.order.total()), 384, kBytes,
             static_cast<cudaStream_t>(place.stream)>>>(parameters);
    check(cudaGetLastError(), "launch the gradients of attention");
  };
  if (parameters.backward.problem.q.number == Number::f16) return launch(backward_kernel<__half, Shape>);
  launch(backward_kernel<__nv_bfloat16, Shape>);
}

}  // namespace attend::cuda
