// Top keys, entropy and received in one pass over the scores, by the asynchronous tensor cores of compute
// capability 9.0. One thread fetches tiles of keys by TMA, and three warpgroups have 64 queries each; while
// some of them multiply, the others make weights.
//
//   S = Q K^T                          f32 sums of 16-bit products
//   the largest scores of each row     top_buffer.cuh: most scores fail one comparison
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

// A tile of queries and the tiles of keys that it looks at.
struct SummaryWork {
  std::int32_t row, first, keys;  // sequence * heads + head, the first query, how many keys there are
  KeyTiles tiles;                 // those that every query sees all of come last where there are none

  __device__ SummaryWork(const HopperSummary& p, int of_row, int of_tile)
      : row(of_row), first(of_tile * SummaryParts::kQueries) {
    const Sequence at = sequence(p);
    keys = static_cast<std::int32_t>(at.keys);
    const std::int64_t last = min(std::int64_t{first} + SummaryParts::kQueries, at.queries) - 1;
    tiles = KeyTiles::of(visible(p, at), first, last, SummaryParts::kQueries, SummaryParts::kKeys);
    // A query that is not there is hidden from all keys.
    const bool some_missing = first + SummaryParts::kQueries > at.queries;
    if (some_missing || tiles.all_begin == tiles.all_end) tiles.all_begin = tiles.all_end = tiles.end;
  }
  __device__ int s(const HopperSummary& p) const { return row / p.problem.heads; }
  __device__ int h(const HopperSummary& p) const { return row % p.problem.heads; }
  __device__ Sequence sequence(const HopperSummary& p) const {
    return p.problem.each == nullptr ? p.problem.same : p.problem.each[s(p)];
  }
  __device__ static Visible visible(const HopperSummary& p, const Sequence& at) {
    return {at.key_count, at.query_offset, p.problem.window_left, p.problem.window_right,
            p.problem.causal != 0};
  }
  // How many tiles of keys are fetched once more, before all others, from the first that hides nothing.
  __device__ int surveyed(const HopperSummary& p) const {
    return p.target.top_keys.data == nullptr ? 0 : tiles_to_survey(tiles.all_end - tiles.all_begin);
  }
  __device__ bool hides(int tile) const { return tile < tiles.all_begin || tile >= tiles.all_end; }
};

// What a warpgroup looks up now and then, in shared memory: registers are what the loop is short of.
struct SummaryNote {
  SummaryWork work;
  float* sums;          // what is added up for the first key, if wanted
  std::int32_t rounds;  // tiles of queries so far that look at some key
};

// How a thread's two rows become weights: w = 2^(c s - shift) * 2^rest.
struct alignas(16) RowScale {
  float shift[2], rest[2];
};

template <int kHeadSize>
struct SummaryShape {
  static constexpr int kD = kHeadSize, kQueries = SummaryParts::kQueries, kKeys = SummaryParts::kKeys;
  static constexpr int kChunks = kD / 64, kQueryBytes = kQueries * kD * 2, kKeyBytes = kKeys * kD * 2;
};

template <int kD>
struct SummaryMemory {
  static constexpr int kStages = kD <= 64 ? 4 : 3;
  using Shape = SummaryShape<kD>;
  static constexpr int kGroups = SummaryParts::kSumsOfPart, kThreads = kGroups * 128;
  using Top = TopMemory<kD <= 64 ? 14 : 8, kThreads>;
  alignas(1024) char q[Shape::kQueryBytes];
  alignas(1024) char k[kStages][Shape::kKeyBytes];
  Top top;
  RowScale scales[kThreads];
  float columns[kGroups][2][4][SummaryParts::kKeys];  // of a warpgroup, in turns, of a warp
  SummaryNote notes[kGroups];
  std::uint64_t q_full, q_empty, k_full[kStages], k_empty[kStages];
};

// For whole warps: the assembler must see that a warp's threads agree, or it makes products wait for each
// other.
struct ByWarps {
  __device__ static __forceinline__ int agreed(int value) { return uniform(value); }
};
struct ByOneThread {
  __device__ static __forceinline__ int agreed(int value) { return value; }
};

// Calls use(work, part) for every tile of queries of this block. Where a part begins is looked up again for
// each of its tiles, so that nothing of it takes a register meanwhile.
template <class By, class Use>
__device__ __forceinline__ void each_summary_work(const HopperSummary& p, Use use) {
  int start = 0, before = 0;  // tiles of the part that came before
  while (start < p.schedule.total()) {
    const int index = p.schedule.index(start, blockIdx.x, gridDim.x);
    const QueryTile at = p.schedule.at(min(index, p.schedule.total() - 1));
    const int s = at.row / p.problem.heads;
    const SummaryParts parts =
        SummaryParts::of(p.problem.each == nullptr ? p.problem.same.queries : p.problem.each[s].queries);
    const int tile = By::agreed(parts.begin(at.tile) + before);
    if (By::agreed(index) >= p.schedule.total() || tile >= By::agreed(parts.end(at.tile))) {
      start += gridDim.x;
      before = 0;
      continue;
    }
    SummaryWork work(p, at.row, tile);
    KeyTiles& tiles = work.tiles;
    tiles = {By::agreed(tiles.begin), By::agreed(tiles.all_begin), By::agreed(tiles.all_end),
             By::agreed(tiles.end)};
    use(work, at.tile);
    ++before;
  }
}

template <int kD>
__device__ void fetch_summary(const HopperSummary& p, SummaryMemory<kD>& memory) {
  using Memory = SummaryMemory<kD>;
  using Shape = typename Memory::Shape;
  int fetched = 0, rounds = 0;
  each_summary_work<ByOneThread>(p, [&](const SummaryWork& work, int) {
    if (work.tiles.count() == 0) return;
    const int sequence = p.problem.packed != 0 ? 0 : work.s(p), head = work.h(p),
              key_head = head / p.problem.group;
    const int query = static_cast<int>(work.sequence(p).query_begin) + work.first;
    const int keys = static_cast<int>(work.sequence(p).key_begin);
    barrier_wait(&memory.q_empty, (rounds++ & 1) ^ 1);
    barrier_expect(&memory.q_full, Shape::kQueryBytes);
#pragma unroll
    for (int c = 0; c < Shape::kChunks; ++c)
      copy_box(memory.q + c * Shape::kQueries * kRowBytes, &p.q, &memory.q_full, c * kChunkColumns, query,
               head, sequence);
#pragma unroll 1
    for (int i = -work.surveyed(p); i < work.tiles.count(); ++i, ++fetched) {
      const int tile = i < 0 ? work.tiles.all_begin + work.surveyed(p) + i : work.tiles.begin + i;
      const int stage = fetched % Memory::kStages, phase = (fetched / Memory::kStages & 1) ^ 1;
      barrier_wait(&memory.k_empty[stage], phase);
      barrier_expect(&memory.k_full[stage], Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < Shape::kChunks; ++c)
        copy_box(memory.k[stage] + c * Shape::kKeys * kRowBytes, &p.k, &memory.k_full[stage],
                 c * kChunkColumns, keys + tile * Shape::kKeys, key_head, sequence);
    }
  });
}

// The registers of a consumer: two rows (r = 0, 1) of 64.
template <class T, int kD>
struct Summarizer {
  using Memory = SummaryMemory<kD>;
  using Shape = typename Memory::Shape;
  static constexpr int kKeys = Shape::kKeys, kSums = kKeys / 2, kColumns = kSums / 2;
  static constexpr float kLn2 = 0.69314718055994531f;
  // Where the logarithm of a row's sum is smaller, it is taken off the score in one step, which costs less
  // than 2e-6 of a weight. Beyond that what is rounded off becomes a factor.
  static constexpr double kNear = 32;

  const HopperSummary& p;
  Memory& memory;
  const int thread, warpgroup;
  TopBuffer<typename Memory::Top> top;
  float s[kSums], moment[2];
  int turn = 0;  // of the stages, twice around: the next tile of keys

  __device__ Summarizer(const HopperSummary& parameters, Memory& shared, int t, int w)
      : p(parameters), memory(shared), thread(t), warpgroup(w), top(shared.top, w * 128 + t) {}

  __device__ const SummaryNote& note() const { return memory.notes[warpgroup]; }
  __device__ __forceinline__ void warpgroup_sync() const {
    asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");
  }
  __device__ __forceinline__ RowScale& scale() const { return memory.scales[top.at]; }
  __device__ int row(int r) const { return warpgroup * 64 + sum_row(thread, 2 * r); }
  __device__ int stage() const { return turn >= Memory::kStages ? turn - Memory::kStages : turn; }
  __device__ bool wants_weights() const { return p.target.entropy.data != nullptr || p.sums.data != nullptr; }

  __device__ __forceinline__ void begin_rows() {
    const SummaryWork& work = note().work;
    const Sequence at = work.sequence(p);
    const int s = work.s(p), h = work.h(p);
    moment[0] = moment[1] = 0;
#pragma unroll 1
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = std::int64_t{work.first} + row(r);
      float max = 0, sum = 0, shift = 0, rest = 0;
      if (i < at.queries) {
        max = *reinterpret_cast<const float*>(Head::row_of(p.max, s, h, at.query_begin + i));
        sum = *reinterpret_cast<const float*>(Head::row_of(p.sum, s, h, at.query_begin + i));
      }
      if (sum != 0) {  // or there are no keys: all are hidden
        // The largest product, as the forward pass had it: rounding of c then only acts on differences.
        const float largest = max / static_cast<float>(p.scale);
        const double around = static_cast<double>(largest) * p.log2_scale;
        const double whole =
            around + (max - largest * p.scale) * 1.4426950408889634 + log2(static_cast<double>(sum));
        const bool finite = whole - whole == 0;
        shift = finite ? static_cast<float>(fabs(whole) <= kNear ? whole : around) : CUDART_NAN_F;
        if (finite && fabs(whole) > kNear) rest = static_cast<float>(shift - whole);
      }
      scale().shift[r] = shift;
      scale().rest[r] = rest;
    }
  }

  // Where an operand is lies in the lower half of its description, in units of 16 bytes; no step carries
  // beyond it.
  __device__ static __forceinline__ std::uint32_t place_of(std::uint32_t address) {
    return static_cast<std::uint32_t>(row_operand(address, 0, 0));
  }
  __device__ static __forceinline__ std::uint64_t operand(std::uint32_t place, int rows, int step) {
    return row_operand(0, 0, 0) >> 32 << 32 | (place + ((step / 4 * rows * kRowBytes + step % 4 * 32) >> 4));
  }
  // The scores of a product. After the last tile there is none: then the product is one of whatever is there,
  // and nobody looks at it; a condition around it would make the assembler wait.
  __device__ __forceinline__ void begin_product(std::uint32_t q, bool there) {
    if (there) barrier_wait(&memory.k_full[stage()], turn >= Memory::kStages ? 1 : 0);
    const std::uint32_t rows = place_of(q),
                        keys = place_of(shared_address(memory.k[0])) + stage() * (Shape::kKeyBytes >> 4);
    products_fence();
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, s, operand(rows, Shape::kQueries, step), operand(keys, kKeys, step), step != 0);
    products_commit();
  }
  // Nothing reads the sums earlier.
  __device__ __forceinline__ void end_product() {
    products_wait<0>();
    if (thread == 0) barrier_arrive(&memory.k_empty[stage()]);
    turn = turn + 1 == 2 * Memory::kStages ? 0 : turn + 1;
#pragma unroll
    for (int x = 0; x < kSums; ++x) asm volatile("" : "+f"(s[x]));
  }

  // Whether a row of the warpgroup sees a key of the tile.
  __device__ __forceinline__ bool looks(int tile) const {
    const SummaryWork& work = note().work;
    const Sequence at = work.sequence(p);
    const std::int64_t first = std::int64_t{work.first} + warpgroup * 64, key = std::int64_t{tile} * kKeys;
    if (first >= at.queries) return false;
    const Visible visible = SummaryWork::visible(p, at);
    return visible.keys_of(first + 63).end > key && visible.keys_of(first).begin < key + kKeys;
  }

  __device__ __forceinline__ void hide(int tile) {
    const SummaryWork& work = note().work;
    const Sequence at = work.sequence(p);
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

  // Weights out of scores, added to their columns, and w log2 w to their rows.
  template <bool kHidden, bool kNearRows>
  __device__ __forceinline__ void weigh(float (&columns)[kColumns]) {
    const RowScale row = scale();
    const float c = p.log2_scale;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float factor = kNearRows ? 1.f : exp2_unit(row.rest[r]);
      float products[2] = {0, 0};
#pragma unroll
      for (int e = 0; e < kSums / 2; ++e) {
        const int x = sum_of_row(r, e);
        float power = fmaf(s[x], c, -row.shift[r]);
        if (kHidden) power = s[x] == -CUDART_INF_F ? -200.f : power;  // 0 times -inf would be NaN
        float weight = exp2_unit(power);
        if (!kNearRows) {
          weight *= factor;
          power += row.rest[r];
        }
        products[e % 2] = fmaf(weight, power, products[e % 2]);
        columns[e] = r == 0 ? weight : columns[e] + weight;
      }
      float product = products[0] + products[1];
      // A score of -inf that was not hidden, since it overflowed.
      if (!kHidden && __any_sync(~0u, isnan(product))) product = isnan(product) ? without_zeros(r) : product;
      moment[r] += product;
    }
  }
  __device__ __forceinline__ float without_zeros(int r) {
    const float shift = scale().shift[r], rest = scale().rest[r];
    float product = 0;
#pragma unroll
    for (int e = 0; e < kSums / 2; ++e) {
      const float power = fmaf(s[sum_of_row(r, e)], p.log2_scale, -shift);
      product += power == -CUDART_INF_F ? 0.f : exp2_unit(power) * exp2_unit(rest) * (power + rest);
    }
    return product;
  }

  __device__ __forceinline__ void examine(int left, float (&columns)[kColumns]) {
    const KeyTiles tiles = note().work.tiles;
    const int tile = tiles.end - left;
#pragma unroll
    for (int e = 0; e < kColumns; ++e) columns[e] = 0;
    const bool hidden = note().work.hides(tile);
    if (hidden) {
      if (!looks(tile)) return;
      hide(tile);
    }
    if (p.target.top_keys.data != nullptr) {
      if (hidden || (tile == tiles.begin && note().work.surveyed(p) == 0)) top.start(s);
      top.look(s, tile, time_to_sort(tile - tiles.begin));
    }
    if (!wants_weights()) return;
    const bool near = __all_sync(~0u, scale().rest[0] == 0 && scale().rest[1] == 0);
    if (near && !hidden) {
      weigh<false, true>(columns);
    } else if (near) {
      weigh<true, true>(columns);
    } else {
      weigh<true, false>(columns);
    }
  }

  // A product is on its way, and another one afterwards.
  __device__ __forceinline__ void survey(int left, std::uint32_t q) {
    if (left == 0) return;
    typename decltype(top)::Survey survey;
#pragma unroll 1
    for (; left > 0; --left) {
      end_product();
      survey.add(s);
      begin_product(q, true);
    }
    top.raise(survey.second);
  }

  // Half of the columns go to the thread `kApart` lanes away, those of the other half come from it.
  template <int kApart>
  __device__ __forceinline__ void exchange(float (&columns)[kColumns]) const {
    const bool upper = (thread & kApart) != 0;
#pragma unroll
    for (int e = 0; e < kApart; ++e) {
      const float keep = upper ? columns[e + kApart] : columns[e],
                  give = upper ? columns[e] : columns[e + kApart];
      columns[e] = keep + __shfl_xor_sync(~0u, give, kApart);
    }
  }

  // Of all rows of the warpgroup. The products of the next tile are on their way.
  __device__ __forceinline__ void add_columns(float (&columns)[kColumns], int left) {
    static_assert(kColumns == 32);
    exchange<16>(columns);
    exchange<8>(columns);
    exchange<4>(columns);
    float(&of_warps)[4][kKeys] = memory.columns[warpgroup][left & 1];
    const int first = first_column_left(thread % 32);
#pragma unroll
    for (int e = 0; e < 4; e += 2)
      *reinterpret_cast<float2*>(&of_warps[thread / 32][column_of_thread(thread % 32, first + e)]) =
          make_float2(columns[e], columns[e + 1]);
    warpgroup_sync();
    const float sum =
        (of_warps[0][thread] + of_warps[1][thread]) + (of_warps[2][thread] + of_warps[3][thread]);
    // The only thread that adds to this sum, so that it adds in order.
    if (const int key = (note().work.tiles.end - left) * kKeys + thread; key < note().work.keys)
      atomicAdd(note().sums + key, sum);
  }

  __device__ __forceinline__ void compute(const SummaryWork& work, int part) {
    const std::uint32_t q = shared_address(memory.q) + warpgroup * 64 * kRowBytes;
    int left = work.tiles.count();  // tiles of keys
    warpgroup_sync();               // others may still read the last note
    if (thread == 0) {
      float* const sums = p.sums.data == nullptr
                              ? nullptr
                              : p.sums.data + p.sums.at(part * SummaryParts::kSumsOfPart + warpgroup,
                                                        work.s(p), work.h(p), work.sequence(p).key_begin);
      memory.notes[warpgroup] = {work, sums, note().rounds + (left > 0 ? 1 : 0)};
    }
    warpgroup_sync();
    begin_rows();
    top.clear();
    if (left > 0) {
      barrier_wait(&memory.q_full, (note().rounds & 1) ^ 1);
      begin_product(q, true);
      survey(work.surveyed(p), q);
#pragma unroll 1
      for (; left > 0; --left) {
        float columns[kColumns];
        end_product();
        examine(left, columns);
        begin_product(q, left > 1);
        if (p.sums.data != nullptr) add_columns(columns, left);
      }
      products_wait<0>();
      if (thread == 0) barrier_arrive(&memory.q_empty);
    }
    finish();
  }

  __device__ __forceinline__ void finish() {
    const SummaryWork& work = note().work;
    const Sequence at = work.sequence(p);
    const int s = work.s(p), h = work.h(p);
    if (p.target.top_keys.data != nullptr) top.sort();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = std::int64_t{work.first} + row(r), place = at.query_begin + i;
      const float shift = scale().shift[r], rest = scale().rest[r];
      const bool exists = i < at.queries, nan = isnan(shift);
      if (p.target.entropy.data != nullptr) {
        float product = moment[r];
        product += __shfl_xor_sync(~0u, product, 1);
        product += __shfl_xor_sync(~0u, product, 2);
        if (exists && thread % 4 == 0)
          *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.entropy, s, h, place))) =
              nan ? shift : -kLn2 * product + 0.f;
      }
      if (p.target.top_keys.data == nullptr || !exists) continue;
      const Placed &keys = p.target.top_keys, &weights = p.target.top_weights;
      auto* const to_keys =
          reinterpret_cast<std::int64_t*>(const_cast<char*>(Head::row_of(keys, s, h, place)));
      auto* const to_weights =
          reinterpret_cast<float*>(const_cast<char*>(Head::row_of(weights, s, h, place)));
      top.each(r, [&](int best, float score, std::int64_t key) {
        if (best >= p.target.top_k) return;
        const float weight = key < 0 ? 0.f : exp2_unit(fmaf(score, p.log2_scale, -shift)) * exp2_unit(rest);
        to_keys[best * keys.element] = nan ? -1 : key;
        to_weights[best * weights.element] = nan ? shift : weight;
      });
    }
  }
};

template <class T, int kD>
__global__ void __launch_bounds__(128 * (1 + SummaryParts::kSumsOfPart), 1)
    summary_kernel(const __grid_constant__ HopperSummary p) {
  // In steps of what is known to be shared memory, so that it is read and written as such.
  extern __shared__ char raw[];
  using Memory = SummaryMemory<kD>;
  auto& memory = *reinterpret_cast<Memory*>(raw + (1024 - shared_address(raw) % 1024) % 1024);
  if (threadIdx.x == 0) {
    barrier_init(&memory.q_full, 1);
    barrier_init(&memory.q_empty, Memory::kGroups);
    for (int i = 0; i < Memory::kGroups; ++i) memory.notes[i].rounds = 0;
    for (int i = 0; i < Memory::kStages; ++i) {
      barrier_init(&memory.k_full[i], 1);
      barrier_init(&memory.k_empty[i], Memory::kGroups);
    }
    barriers_ready();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<32>();
    if (threadIdx.x == 0) fetch_summary<kD>(p, memory);
  } else {
    take_registers<160>();
    Summarizer<T, kD> summarizer(p, memory, threadIdx.x % 128, uniform(threadIdx.x / 128) - 1);
    each_summary_work<ByWarps>(p, [&](const SummaryWork& work, int part) { summarizer.compute(work, part); });
  }
}

template <int kD>
void launch_summary(plugin::Place place, const HopperSummary& parameters, int blocks) {
  constexpr int kBytes = sizeof(SummaryMemory<kD>) + 1024;
  static_assert(kBytes <= 227 * 1024);
  const auto launch = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
          "get shared memory for summarize_weights");
    kernel<<<static_cast<unsigned>(blocks), 128 + SummaryMemory<kD>::kThreads, kBytes,
             static_cast<cudaStream_t>(place.stream)>>>(parameters);
    check(cudaGetLastError(), "launch summarize_weights");
  };
  if (parameters.problem.q.number == Number::f16) return launch(summary_kernel<__half, kD>);
  launch(summary_kernel<__nv_bfloat16, kD>);
}

}  // namespace attend::cuda
