// Top keys, entropy and received in one pass over the scores, by the asynchronous tensor cores of compute
// capability 9.0. One thread fetches tiles of keys by TMA, and two warpgroups have 128 queries each, in two
// bands of 64; while the product of one band is on its way, weights are made of the other.
//
//   S = Q K^T                          f32 sums of 16-bit products
//   the largest scores of each row     top_buffer.cuh: most scores fail one comparison
//   W = 2^(c S - log2 of the row's sum)
//   rows of W ln W                     each thread adds its own, the four of a row at the end
//   columns of W                       added over the 32 rows of a warp by exchange, over 128 in shared memory
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
};

// What a warpgroup looks up now and then, in shared memory: registers are what the loop is short of.
struct SummaryNote {
  SummaryWork work;
  float* sums;                 // what is added up for the first key, if wanted
  std::int32_t rounds;         // tiles of queries so far that look at some key
  std::int32_t start, before;  // of each_summary_work()
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
  static constexpr int kStages = kD <= 64 ? 4 : 2;
  using Shape = SummaryShape<kD>;
  static constexpr int kGroups = SummaryParts::kGroups, kThreads = kGroups * 128;
  static constexpr int kLists = kThreads * SummaryParts::kBands;  // of each thread one for each band
  using Top = TopMemory<kD <= 64 ? 8 : 6, kLists>;
  alignas(1024) char q[Shape::kQueryBytes];
  alignas(1024) char k[kStages][Shape::kKeyBytes];
  Top top;
  RowScale scales[kLists];
  float2 moments[kLists];                          // of each row so far: the sum of w log2 w
  float columns[kGroups][4][SummaryParts::kKeys];  // of a warp
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

// Calls use(work, part, start, before) for every tile of queries of this block; the last two are where this loop is,
// which use may keep elsewhere meanwhile. Where a part begins is looked up again for each of its tiles.
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
    use(work, at.tile, start, before);
    ++before;
  }
}

template <int kD>
__device__ void fetch_summary(const HopperSummary& p, SummaryMemory<kD>& memory) {
  using Memory = SummaryMemory<kD>;
  using Shape = typename Memory::Shape;
  int fetched = 0, rounds = 0;
  each_summary_work<ByOneThread>(p, [&](const SummaryWork& work, int, int, int) {
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

// The registers of a consumer: of each band of 64 queries two rows (r = 0, 1).
template <class T, int kD>
struct Summarizer {
  using Memory = SummaryMemory<kD>;
  using Shape = typename Memory::Shape;
  static constexpr int kBands = SummaryParts::kBands;
  static constexpr int kKeys = Shape::kKeys, kSums = kKeys / 2, kColumns = kSums / 2;
  static constexpr float kLn2 = 0.69314718055994531f;
  // Where the logarithm of a row's sum is smaller, it is taken off the score in one step, which costs less
  // than 2e-6 of a weight. Beyond that what is rounded off becomes a factor.
  static constexpr double kNear = 32;

  const HopperSummary& p;
  Memory& memory;
  const int thread, warpgroup;
  TopBuffer<typename Memory::Top, 0> top0;
  TopBuffer<typename Memory::Top, 1> top1;
  float s[kBands][kSums];
  int stage = 0, phase = 0;  // of the tile of keys that the next product takes
  bool near;                 // the rests of all rows of the warp are 0

  __device__ Summarizer(const HopperSummary& parameters, Memory& shared, int t, int w)
      : p(parameters), memory(shared), thread(t), warpgroup(w), top0(shared.top), top1(shared.top) {}
  template <int kBand>
  __device__ __forceinline__ auto& top() {
    if constexpr (kBand == 0) return top0;
    else return top1;
  }

  __device__ const SummaryNote& note() const { return memory.notes[warpgroup]; }
  __device__ const SummaryWork& work() const { return note().work; }
  __device__ __forceinline__ void warpgroup_sync() const {
    asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");
  }
  __device__ __forceinline__ int list(int band) const { return (band * Memory::kGroups + warpgroup) * 128 + thread; }
  __device__ __forceinline__ RowScale& scale(int band) const { return memory.scales[list(band)]; }
  __device__ __forceinline__ float2& moment(int band) const { return memory.moments[list(band)]; }
  // Counted from the first of the tile.
  __device__ int first_row(int band) const { return (warpgroup * kBands + band) * 64; }
  __device__ int row(int band, int r) const { return first_row(band) + sum_row(thread, 2 * r); }
  __device__ bool wants_weights() const { return p.target.entropy.data != nullptr || p.sums.data != nullptr; }

  __device__ __forceinline__ void begin_rows() {
    const Sequence at = work().sequence(p);
    const int s = work().s(p), h = work().h(p);
    bool whole_shift = true;
#pragma unroll 1
    for (int x = 0; x < 2 * kBands; ++x) {
      const std::int64_t i = std::int64_t{work().first} + row(x / 2, x % 2);
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
      scale(x / 2).shift[x % 2] = shift;
      scale(x / 2).rest[x % 2] = rest;
      whole_shift = whole_shift && rest == 0;
    }
    near = __all_sync(~0u, whole_shift);
    moment(0) = moment(1) = make_float2(0, 0);
    top0.clear();
    top1.clear();
  }

  // Where an operand is lies in the lower half of its description, in units of 16 bytes; no step carries
  // beyond it.
  __device__ static __forceinline__ std::uint32_t place_of(std::uint32_t address) {
    return static_cast<std::uint32_t>(row_operand(address, 0, 0));
  }
  __device__ static __forceinline__ std::uint64_t operand(std::uint32_t place, int rows, int step) {
    return row_operand(0, 0, 0) >> 32 << 32 | (place + ((step / 4 * rows * kRowBytes + step % 4 * 32) >> 4));
  }
  // The scores of a band against a tile of keys, which the first of them waits for. After the last tile there is
  // none: then the product is one of whatever is there, and nobody looks at it; a condition around it would
  // make the assembler wait.
  template <int kBand>
  __device__ __forceinline__ void begin_product(bool there = true) {
    if (kBand == 0 && there) barrier_wait(&memory.k_full[stage], phase);
    const std::uint32_t rows = place_of(shared_address(memory.q)) + first_row(kBand) * (kRowBytes >> 4),
                        keys = place_of(shared_address(memory.k[0])) + stage * (Shape::kKeyBytes >> 4);
    products_fence();
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, s[kBand], operand(rows, Shape::kQueries, step), operand(keys, kKeys, step), step != 0);
    products_commit();
  }
  // Nothing reads the sums earlier. After the second band the keys may go.
  template <int kBand>
  __device__ __forceinline__ void end_product() {
    products_wait<0>();
#pragma unroll
    for (int x = 0; x < kSums; ++x) asm volatile("" : "+f"(s[kBand][x]));
    if (kBand == 0) return;
    if (thread == 0) barrier_arrive(&memory.k_empty[stage]);
    if (++stage == Memory::kStages) {
      stage = 0;
      phase ^= 1;
    }
  }

  // Whether a row of the band sees a key of the tile.
  __device__ __forceinline__ bool looks(int band, int tile) const {
    const Sequence at = work().sequence(p);
    const std::int64_t first = std::int64_t{work().first} + first_row(band), key = std::int64_t{tile} * kKeys;
    if (first >= at.queries) return false;
    const Visible visible = SummaryWork::visible(p, at);
    return visible.keys_of(first + 63).end > key && visible.keys_of(first).begin < key + kKeys;
  }

  template <int kBand>
  __device__ __forceinline__ void hide(int tile) {
    const Sequence at = work().sequence(p);
    const Visible visible = SummaryWork::visible(p, at);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = std::int64_t{work().first} + row(kBand, r), key = std::int64_t{tile} * kKeys;
      const KeySpan span = visible.keys_of(i);
      const int begin = static_cast<int>(max(span.begin - key, std::int64_t{0})),
                end = i < at.queries ? static_cast<int>(min(span.end - key, std::int64_t{kKeys})) : 0;
#pragma unroll
      for (int e = 0; e < kSums / 2; ++e) {
        const int x = sum_of_row(r, e), column = sum_column(thread, x);
        if (column < begin || column >= end) s[kBand][x] = -CUDART_INF_F;
      }
    }
  }

  // Weights out of scores, added to their columns, and w log2 w to their rows. Where it is not plain, some are
  // hidden, or some row's shift is not the whole of it. Where it is, the special function unit takes longest,
  // and `beside` has pairs of octets looked at for the top in its shadow.
  template <int kBand, bool kPlain, class Beside>
  __device__ __forceinline__ void weigh(float (&columns)[kColumns], Beside beside) {
    const float c = p.log2_scale;
    const RowScale row = scale(kBand);
    const float factors[2] = {kPlain ? 1.f : exp2_unit(row.rest[0]), kPlain ? 1.f : exp2_unit(row.rest[1])};
    float products[2] = {0, 0};
#pragma unroll
    for (int octet = 0; octet < kSums / 4; ++octet) {
      if (octet % 2 == 0) beside(octet / 2);
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int r = x / 2, e = octet * 2 + x % 2;
        const float score = s[kBand][octet * 4 + x];
        float power = fmaf(score, c, -row.shift[r]);
        if (!kPlain) power = score == -CUDART_INF_F ? -200.f : power;  // 0 times -inf would be NaN
        float weight = exp2_unit(power);
        if (!kPlain) {
          weight *= factors[r];
          power += row.rest[r];
        }
        products[r] = fmaf(weight, power, products[r]);
        columns[e] = kBand == 0 && r == 0 ? weight : columns[e] + weight;
      }
    }
    // A score of -inf that was not hidden, since it overflowed.
    if (kPlain && __any_sync(~0u, isnan(products[0] + products[1]))) {
#pragma unroll
      for (int r = 0; r < 2; ++r) products[r] = isnan(products[r]) ? without_zeros<kBand>(r) : products[r];
    }
    const float2 before = moment(kBand);
    moment(kBand) = make_float2(before.x + products[0], before.y + products[1]);
  }
  template <int kBand>
  __device__ __forceinline__ float without_zeros(int r) {
    const float shift = scale(kBand).shift[r];
    float product = 0;
#pragma unroll
    for (int e = 0; e < kSums / 2; ++e) {
      const float power = fmaf(s[kBand][sum_of_row(r, e)], p.log2_scale, -shift);
      product += power == -CUDART_INF_F ? 0.f : exp2_unit(power) * power;
    }
    return product;
  }

  template <int kBand>
  __device__ __forceinline__ void examine(const KeyTiles& tiles, int tile, float (&columns)[kColumns]) {
    const bool hidden = tile < tiles.all_begin || tile >= tiles.all_end;
    if (hidden) {
      if (kBand == 0) {
#pragma unroll
        for (int e = 0; e < kColumns; ++e) columns[e] = 0;
      }
      if (!looks(kBand, tile)) return;
      hide<kBand>(tile);
    }
    const bool plain = near && !hidden, weighs = wants_weights();
    if (p.target.top_keys.data != nullptr) {
      auto& mine = top<kBand>();
      if (hidden || (tile == tiles.begin && work().surveyed(p) == 0)) mine.start(s[kBand]);
      if (time_to_sort(tile - tiles.begin)) mine.sort();
      const auto look = mine.begin_look(tile);
      if (plain && weighs) {
        weigh<kBand, true>(columns, [&](int pair) { mine.look_at(look, s[kBand], pair); });
        return mine.end_look(look, s[kBand], tile);
      }
#pragma unroll
      for (int pair = 0; pair < kSums / 8; ++pair) mine.look_at(look, s[kBand], pair);
      mine.end_look(look, s[kBand], tile);
    }
    if (!weighs) return;
    const auto nothing = [](int) {};
    if (plain) {
      weigh<kBand, true>(columns, nothing);
    } else {
      weigh<kBand, false>(columns, nothing);
    }
  }

  // The first band's product is on its way, and another one afterwards.
  __device__ __forceinline__ void survey(int left) {
    if (left == 0) return;
    typename decltype(top0)::Survey survey0, survey1;
#pragma unroll 1
    for (; left > 0; --left) {
      end_product<0>();
      begin_product<1>();
      survey0.add(s[0]);
      end_product<1>();
      begin_product<0>();
      survey1.add(s[1]);
    }
    top0.raise(survey0.second);
    top1.raise(survey1.second);
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

  // Of all rows of the warpgroup. The next tile's product is on its way.
  __device__ __forceinline__ void add_columns(float (&columns)[kColumns], int tile) {
    static_assert(kColumns == 32);
    exchange<16>(columns);
    exchange<8>(columns);
    exchange<4>(columns);
    float(&of_warps)[4][kKeys] = memory.columns[warpgroup];
    const int first = first_column_left(thread % 32);
    warpgroup_sync();  // others may still read those of the last tile
#pragma unroll
    for (int e = 0; e < 4; e += 2)
      *reinterpret_cast<float2*>(&of_warps[thread / 32][column_of_thread(thread % 32, first + e)]) =
          make_float2(columns[e], columns[e + 1]);
    warpgroup_sync();
    const float sum =
        (of_warps[0][thread] + of_warps[1][thread]) + (of_warps[2][thread] + of_warps[3][thread]);
    // The only thread that adds to this sum, so that it adds in order.
    if (const int key = tile * kKeys + thread; key < work().keys) add_to_global(note().sums + key, sum);
  }

  __device__ __forceinline__ void compute(const SummaryWork& given, int part, int& start, int& before) {
    const KeyTiles tiles = given.tiles;
    warpgroup_sync();  // others may still read the last note
    if (thread == 0) {
      float* const sums = p.sums.data == nullptr
                              ? nullptr
                              : p.sums.data + p.sums.at(part * SummaryParts::kGroups + warpgroup, given.s(p),
                                                        given.h(p), given.sequence(p).key_begin);
      memory.notes[warpgroup] = {given, sums, note().rounds + (tiles.count() > 0 ? 1 : 0), start, before};
    }
    warpgroup_sync();
    begin_rows();
    if (tiles.count() > 0) {
      barrier_wait(&memory.q_full, (note().rounds & 1) ^ 1);
      begin_product<0>();
      survey(work().surveyed(p));
#pragma unroll 1
      for (int tile = tiles.begin; tile < tiles.end; ++tile) {
        float columns[kColumns];
        end_product<0>();
        begin_product<1>();
        examine<0>(tiles, tile, columns);
        end_product<1>();
        begin_product<0>(tile + 1 < tiles.end);
        examine<1>(tiles, tile, columns);
        if (p.sums.data != nullptr) add_columns(columns, tile);
      }
      products_wait<0>();
      if (thread == 0) barrier_arrive(&memory.q_empty);
    }
    finish<0>();
    finish<1>();
    start = note().start;
    before = note().before;
  }

  template <int kBand>
  __device__ __forceinline__ void finish() {
    const Sequence at = work().sequence(p);
    const int s = work().s(p), h = work().h(p);
    if (p.target.top_keys.data != nullptr) top<kBand>().sort();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = std::int64_t{work().first} + row(kBand, r), place = at.query_begin + i;
      const float shift = scale(kBand).shift[r], rest = scale(kBand).rest[r];
      const bool exists = i < at.queries, nan = isnan(shift);
      if (p.target.entropy.data != nullptr) {
        float product = r == 0 ? moment(kBand).x : moment(kBand).y;
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
      top<kBand>().each(r, [&](int best, float score, std::int64_t key) {
        if (best >= p.target.top_k) return;
        const float weight =
            key < 0 ? 0.f : exp2_unit(fmaf(score, p.log2_scale, -shift)) * exp2_unit(rest);
        to_keys[best * keys.element] = nan ? -1 : key;
        to_weights[best * weights.element] = nan ? shift : weight;
      });
    }
  }
};

template <class T, int kD>
__global__ void __launch_bounds__(128 * (1 + SummaryParts::kGroups), 1)
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
    give_registers<24>();
    if (threadIdx.x == 0) fetch_summary<kD>(p, memory);
  } else {
    take_registers<240>();
    Summarizer<T, kD> summarizer(p, memory, threadIdx.x % 128, uniform(threadIdx.x / 128) - 1);
    each_summary_work<ByWarps>(p, [&](const SummaryWork& work, int part, int& start, int& before) {
      summarizer.compute(work, part, start, before);
    });
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
