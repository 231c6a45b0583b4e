// Top keys, entropy and received in one pass over the scores, by the asynchronous tensor cores of compute
// capability 9.0. One thread fetches tiles of keys by TMA, and two warpgroups have 64 queries each; while one of them
// multiplies, the other makes weights.
//
//   S = Q K^T                          f32 sums of 16-bit products
//   the largest scores of each row     top_buffer.cuh: most scores fail one comparison of 8
//   W = 2^(c S - log2 of the row's sum)
//   rows of W ln W                     each thread adds its own, the four of a row at the end
//   columns of W                       added over the 16 rows of a warp by exchange, over 64 in shared memory
//
// What keys receive is added to the sums of a part of the queries by one thread each, tile after tile.
#pragma once

#include "cuda/error.h"
#include "cuda/head.cuh"
#include "cuda/hopper/instructions.cuh"
#include "cuda/hopper/summary.h"
#include "cuda/hopper/summary_parts.h"
#include "cuda/hopper/tile_shape.h"
#include "cuda/hopper/top_buffer.cuh"
#include "cuda/hopper/wgmma.h"

namespace attend::cuda {

template <int kD>
struct SummaryMemory {
  static constexpr int kStages = kD <= 64 ? 3 : 2;
  using Shape = TileShape<kD, SummaryParts::kKeys, 0>;
  alignas(1024) char q[Shape::kQueryBytes];
  alignas(1024) char k[kStages][Shape::kKeyBytes];
  TopMemory top;
  float columns[2][2][4][SummaryParts::kKeys];  // of a warpgroup, in turns, of a warp
  std::uint64_t q_full, q_empty, k_full[kStages], k_empty[kStages];
};

// A tile of queries and the tiles of keys that it looks at.
struct SummaryWork {
  std::int32_t s, h, part, tile, first;
  KeyTiles tiles;

  __device__ static Sequence sequence(const HopperSummary& p, int s) {
    return p.problem.each == nullptr ? p.problem.same : p.problem.each[s];
  }
  __device__ static Visible visible(const HopperSummary& p, const Sequence& at) {
    return {at.key_count, at.query_offset, p.problem.window_left, p.problem.window_right, p.problem.causal != 0};
  }
  __device__ SummaryWork(const HopperSummary& p, const Sequence& at, int sequence_index, int head, int of_part, int of_tile)
      : s(sequence_index), h(head), part(of_part), tile(of_tile), first(of_tile * SummaryParts::kQueries) {
    const std::int64_t last = min(std::int64_t{first} + SummaryParts::kQueries, at.queries) - 1;
    tiles = KeyTiles::of(visible(p, at), first, last, SummaryParts::kQueries, SummaryParts::kKeys);
    // A query that is not there is hidden from all keys.
    if (first + SummaryParts::kQueries > at.queries) tiles.all_begin = tiles.all_end = tiles.begin;
  }
  // The assembler must see that a warp's threads agree on these, or it makes products wait for each other.
  __device__ __forceinline__ void make_uniform() {
    tiles = {uniform(tiles.begin), uniform(tiles.all_begin), uniform(tiles.all_end), uniform(tiles.end)};
  }
};

// Calls use(work) for every tile of queries of this block.
template <class Use>
__device__ __forceinline__ void each_summary_work(const HopperSummary& p, Use use) {
  for (int start = 0; start < p.schedule.total(); start += gridDim.x) {
    const int index = uniform(p.schedule.index(start, blockIdx.x, gridDim.x));
    if (index >= p.schedule.total()) continue;
    const QueryTile at = p.schedule.at(index);
    const int s = at.row / p.problem.heads, h = at.row % p.problem.heads;
    const Sequence sequence = SummaryWork::sequence(p, s);
    const SummaryParts parts = SummaryParts::of(sequence.queries);
    if (at.tile >= parts.count()) continue;
    const int begin = uniform(parts.begin(at.tile)), end = uniform(parts.end(at.tile));
    for (int tile = begin; tile < end; ++tile) {
      SummaryWork work(p, sequence, s, h, at.tile, tile);
      work.make_uniform();
      use(work, sequence);
    }
  }
}

template <int kD>
__device__ void fetch_summary(const HopperSummary& p, SummaryMemory<kD>& memory) {
  using Memory = SummaryMemory<kD>;
  using Shape = typename Memory::Shape;
  int fetched = 0, rounds = 0;
  each_summary_work(p, [&](const SummaryWork& work, const Sequence& at) {
    if (work.tiles.count() == 0 || threadIdx.x != 0) return;
    const int sequence = p.problem.packed != 0 ? 0 : work.s, key_head = work.h / p.problem.group;
    barrier_wait(&memory.q_empty, (rounds++ & 1) ^ 1);
    barrier_expect(&memory.q_full, Shape::kQueryBytes);
#pragma unroll
    for (int c = 0; c < Shape::kChunks; ++c)
      copy_box(memory.q + c * Shape::kQueries * kRowBytes, &p.q, &memory.q_full, c * kChunkColumns,
               static_cast<int>(at.query_begin) + work.first, work.h, sequence);
    for (int tile = work.tiles.begin; tile < work.tiles.end; ++tile, ++fetched) {
      const int stage = fetched % Memory::kStages, phase = (fetched / Memory::kStages & 1) ^ 1;
      barrier_wait(&memory.k_empty[stage], phase);
      barrier_expect(&memory.k_full[stage], Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < Shape::kChunks; ++c)
        copy_box(memory.k[stage] + c * Shape::kKeys * kRowBytes, &p.k, &memory.k_full[stage], c * kChunkColumns,
                 static_cast<int>(at.key_begin) + tile * Shape::kKeys, key_head, sequence);
    }
  });
}

// The registers of a consumer: two rows (r = 0, 1) of 64.
template <class T, int kD>
struct Summarizer {
  using Memory = SummaryMemory<kD>;
  using Shape = typename Memory::Shape;
  static constexpr int kKeys = Shape::kKeys, kSums = kKeys / 2;
  static constexpr float kLn2 = 0.69314718055994531f;
  // Where the logarithm of a row's sum is smaller, it is taken off the score in one step, which costs less than
  // 2e-6 of a weight. Beyond that what is rounded off becomes a factor.
  static constexpr double kNear = 32;

  const HopperSummary& p;
  Memory& memory;
  const int thread, warpgroup;
  TopBuffer top;
  float s[kSums];
  // w = 2^(c s - shift) * factor, factor = 2^rest.
  float shift[2], factor[2], rest[2], mass[2], moment[2];
  int taken = 0;  // tiles of keys so far
  bool near;      // the factors of all rows of the warp are 1

  __device__ Summarizer(const HopperSummary& parameters, Memory& shared, int t, int w)
      : p(parameters), memory(shared), thread(t), warpgroup(w), top(shared.top, w * 128 + t) {}

  __device__ int row(int r) const { return warpgroup * 64 + sum_row(thread, 2 * r); }

  __device__ __forceinline__ void begin_rows(const SummaryWork& work, const Sequence& at) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = std::int64_t{work.first} + row(r);
      float max = 0, sum = 0;
      if (i < at.queries) {
        max = *reinterpret_cast<const float*>(Head::row_of(p.max, work.s, work.h, at.query_begin + i));
        sum = *reinterpret_cast<const float*>(Head::row_of(p.sum, work.s, work.h, at.query_begin + i));
      }
      factor[r] = 1;
      shift[r] = rest[r] = mass[r] = moment[r] = 0;
      if (sum == 0) continue;  // no keys: all are hidden
      // The largest product, as the forward pass had it: rounding of c then only acts on differences.
      const float largest = max / static_cast<float>(p.scale);
      const double around = static_cast<double>(largest) * p.log2_scale;
      const double whole = around + (max - largest * p.scale) * 1.4426950408889634 + log2(static_cast<double>(sum));
      const bool finite = whole - whole == 0;
      shift[r] = finite ? static_cast<float>(fabs(whole) <= kNear ? whole : around) : CUDART_NAN_F;
      if (finite && fabs(whole) > kNear) {
        rest[r] = static_cast<float>(shift[r] - whole);
        factor[r] = exp2f(rest[r]);
      }
    }
    near = __all_sync(~0u, factor[0] == 1 && factor[1] == 1);
  }

  __device__ __forceinline__ void multiply(std::uint32_t q) {
    const int stage = taken % Memory::kStages;
    barrier_wait(&memory.k_full[stage], taken / Memory::kStages & 1);
    const std::uint32_t k = shared_address(memory.k[stage]);
    products_fence();
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, s, row_operand(q, Shape::kQueries, step), row_operand(k, kKeys, step), step != 0);
    products_commit();
    products_wait<0>();
    if (thread == 0) barrier_arrive(&memory.k_empty[stage]);
    ++taken;
  }

  __device__ __forceinline__ void hide(const SummaryWork& work, const Sequence& at, int tile) {
    const Visible visible = SummaryWork::visible(p, at);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = std::int64_t{work.first} + row(r), key = std::int64_t{tile} * kKeys;
      const KeySpan span = visible.keys_of(i);
      const int begin = static_cast<int>(max(span.begin - key, std::int64_t{0})),
                end = i < at.queries ? static_cast<int>(min(span.end - key, std::int64_t{kKeys})) : 0;
#pragma unroll
      for (int e = 0; e < kSums / 2; ++e) {
        const int x = sum_of_row(r, e), column = sum_column(thread, x);
        if (column < begin || column >= end) s[x] = -CUDART_INF_F;
      }
    }
  }

  // Scores become weights, before their factor.
  template <bool kHidden, bool kNearRows>
  __device__ __forceinline__ void weigh() {
    const float c = p.log2_scale;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = 0, product = 0;
#pragma unroll
      for (int e = 0; e < kSums / 2; ++e) {
        const int x = sum_of_row(r, e);
        float power = fmaf(s[x], c, -shift[r]);
        if (kHidden) power = s[x] == -CUDART_INF_F ? -200.f : power;  // 0 times -inf would be NaN
        s[x] = exp2_unit(power);
        if (!kNearRows) sum += s[x];
        product = fmaf(s[x], power, product);
      }
      // A score of -inf that was not hidden, since it overflowed.
      if (!kHidden && __any_sync(~0u, isnan(product))) product = isnan(product) ? without_zeros(r) : product;
      if (!kNearRows) mass[r] += sum;
      moment[r] += product;
    }
  }
  __device__ __forceinline__ float without_zeros(int r) const {
    float product = 0;
#pragma unroll
    for (int e = 0; e < kSums / 2; ++e) {
      const float w = s[sum_of_row(r, e)];
      product += w == 0 ? 0.f : w * log2f(w);
    }
    return product;
  }

  // Half of the columns go to the thread `kApart` lanes away, those of the other half come from it.
  template <int kApart, int kCount>
  __device__ __forceinline__ void exchange(float (&columns)[kCount]) const {
    const bool upper = (thread & kApart) != 0;
#pragma unroll
    for (int e = 0; e < kApart; ++e) {
      const float keep = upper ? columns[e + kApart] : columns[e], give = upper ? columns[e] : columns[e + kApart];
      columns[e] = keep + __shfl_xor_sync(~0u, give, kApart);
    }
  }

  __device__ __forceinline__ void add_columns(const SummaryWork& work, const Sequence& at, int tile) {
    float columns[kSums / 2];
    if (near) {
#pragma unroll
      for (int e = 0; e < kSums / 2; ++e) columns[e] = s[sum_of_row(0, e)] + s[sum_of_row(1, e)];
    } else {
#pragma unroll
      for (int e = 0; e < kSums / 2; ++e)
        columns[e] = fmaf(s[sum_of_row(1, e)], factor[1], s[sum_of_row(0, e)] * factor[0]);
    }
    static_assert(kSums / 2 == 32);
    exchange<16>(columns);
    exchange<8>(columns);
    exchange<4>(columns);
    float(&of_warps)[4][kKeys] = memory.columns[warpgroup][taken & 1];
    const int first = first_column_left(thread % 32);
#pragma unroll
    for (int e = 0; e < 4; e += 2)
      *reinterpret_cast<float2*>(&of_warps[thread / 32][column_of_thread(thread % 32, first + e)]) =
          make_float2(columns[e], columns[e + 1]);
    asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");
    const float sum = (of_warps[0][thread] + of_warps[1][thread]) + (of_warps[2][thread] + of_warps[3][thread]);
    const std::int64_t key = std::int64_t{tile} * kKeys + thread;
    // The only thread that adds to this sum, so that it adds in order.
    if (key < at.keys)
      atomicAdd(p.sums.data + p.sums.at(work.part * SummaryParts::kSumsOfPart + warpgroup, work.s, work.h,
                                        at.key_begin + key), sum);
  }

  template <bool kHidden>
  __device__ __forceinline__ void steps(const SummaryWork& work, const Sequence& at, std::uint32_t q, int begin, int end) {
#pragma unroll 1
    for (int tile = begin; tile < end; ++tile) {
      multiply(q);
      if (kHidden) hide(work, at, tile);
      if (p.target.top_keys.data != nullptr) top.look(s, tile * kKeys);
      if (near) {
        weigh<kHidden, true>();
      } else {
        weigh<kHidden, false>();
      }
      if (p.sums.data != nullptr) add_columns(work, at, tile);
    }
  }

  __device__ __forceinline__ void compute(const SummaryWork& work, const Sequence& at, int& rounds) {
    const std::uint32_t q = shared_address(memory.q) + warpgroup * 64 * kRowBytes;
    begin_rows(work, at);
    top.clear();
    if (work.tiles.count() > 0) {
      barrier_wait(&memory.q_full, rounds++ & 1);
      const int open_begin = work.tiles.all_begin == work.tiles.all_end ? work.tiles.end : work.tiles.all_begin;
      const int open_end = work.tiles.all_begin == work.tiles.all_end ? work.tiles.end : work.tiles.all_end;
#pragma unroll 1
      for (int part = 0; part < 3; ++part) {  // hidden on the left, open, hidden on the right
        if (part == 1) {
          steps<false>(work, at, q, open_begin, open_end);
        } else {
          steps<true>(work, at, q, part == 0 ? work.tiles.begin : open_end, part == 0 ? open_begin : work.tiles.end);
        }
      }
      if (thread == 0) barrier_arrive(&memory.q_empty);
    }
    finish(work, at);
  }

  __device__ __forceinline__ void finish(const SummaryWork& work, const Sequence& at) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = std::int64_t{work.first} + row(r), place = at.query_begin + i;
      const bool exists = i < at.queries, nan = isnan(shift[r]);
      if (p.target.entropy.data != nullptr) {
        float product = moment[r] + rest[r] * mass[r];
        product += __shfl_xor_sync(~0u, product, 1);
        product += __shfl_xor_sync(~0u, product, 2);
        if (exists && thread % 4 == 0)
          *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.entropy, work.s, work.h, place))) =
              nan ? shift[r] : -kLn2 * factor[r] * product + 0.f;
      }
      if (p.target.top_keys.data == nullptr) continue;
      top.sort(r);
      const Placed &keys = p.target.top_keys, &weights = p.target.top_weights;
      auto* const to_keys = reinterpret_cast<std::int64_t*>(const_cast<char*>(Head::row_of(keys, work.s, work.h, place)));
      auto* const to_weights = reinterpret_cast<float*>(const_cast<char*>(Head::row_of(weights, work.s, work.h, place)));
      top.each(r, [&](int best, float score, int key) {
        if (!exists || best >= p.target.top_k) return;
        const float weight = key < 0 ? 0.f : exp2_unit(fmaf(score, p.log2_scale, -shift[r])) * factor[r];
        to_keys[best * keys.element] = nan ? -1 : key;
        to_weights[best * weights.element] = nan ? shift[r] : weight;
      });
      __syncwarp();
    }
  }
};

template <class T, int kD>
__global__ void __launch_bounds__(384, 1) summary_kernel(const __grid_constant__ HopperSummary p) {
  extern __shared__ char raw[];
  using Memory = SummaryMemory<kD>;
  auto& memory = *reinterpret_cast<Memory*>((reinterpret_cast<std::uintptr_t>(raw) + 1023) & ~std::uintptr_t{1023});
  if (threadIdx.x == 0) {
    barrier_init(&memory.q_full, 1);
    barrier_init(&memory.q_empty, 2);
    for (int i = 0; i < Memory::kStages; ++i) {
      barrier_init(&memory.k_full[i], 1);
      barrier_init(&memory.k_empty[i], 2);
    }
    barriers_ready();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x < 32) fetch_summary<kD>(p, memory);
  } else {
    take_registers<232>();
    Summarizer<T, kD> summarizer(p, memory, threadIdx.x % 128, uniform(threadIdx.x / 128) - 1);
    int rounds = 0;
    each_summary_work(p, [&](const SummaryWork& work, const Sequence& at) { summarizer.compute(work, at, rounds); });
  }
}

template <int kD>
void launch_summary(plugin::Place place, const HopperSummary& parameters, int blocks) {
  constexpr int kBytes = sizeof(SummaryMemory<kD>) + 1024;
  const auto launch = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
          "get shared memory for summarize_weights");
    kernel<<<static_cast<unsigned>(blocks), 384, kBytes, static_cast<cudaStream_t>(place.stream)>>>(parameters);
    check(cudaGetLastError(), "launch summarize_weights");
  };
  if (parameters.problem.q.number == Number::f16) return launch(summary_kernel<__half, kD>);
  launch(summary_kernel<__nv_bfloat16, kD>);
}

}  // namespace attend::cuda
