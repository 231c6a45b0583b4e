// Attention by the asynchronous tensor cores of compute capability 9.0. A block of three warpgroups stays on its
// multiprocessor and takes tiles of 128 queries: one thread fetches tiles of keys and values by TMA, two ahead,
// and two warpgroups compute 64 queries each. While one of them multiplies, the other makes its softmax; named
// barriers keep them in turns. The weights of a tile never leave the registers, and the scores of the next tile
// are in flight with the output of this one.
//
// Scores are f32 sums of 16-bit products; weights are rounded to the type of the values before they meet them,
// the row's sum is that of the weights before rounding.
#pragma once

#include <type_traits>

#include "cuda/error.h"
#include "cuda/head.cuh"
#include "cuda/hopper/exp2.h"
#include "cuda/hopper/fragments.h"
#include "cuda/hopper/instructions.cuh"
#include "cuda/hopper/parameters.h"
#include "cuda/hopper/strange.h"
#include "cuda/hopper/tile_shape.h"
#include "cuda/hopper/wgmma.h"

namespace attend::cuda {

template <class Shape>
struct HopperMemory {
  alignas(1024) char q[Shape::kQueryBytes];
  alignas(1024) char k[Shape::kStages][Shape::kKeyBytes];
  alignas(1024) char v[Shape::kStages][Shape::kKeyBytes];
  std::uint64_t q_full, q_empty;
  std::uint64_t k_full[Shape::kStages], k_empty[Shape::kStages], v_full[Shape::kStages], v_empty[Shape::kStages];
};

// A tile of queries and the tiles of keys that it looks at. What can be looked up again is not kept: registers
// are what the loop is short of.
template <class Shape>
struct Work {
  std::int32_t s, h, first;  // the first query
  KeyTiles tiles;

  __device__ Work(const HopperParameters& p, int index) {
    const QueryTile at = p.schedule.at(index);
    s = at.row / p.problem.heads;
    h = at.row % p.problem.heads;
    first = at.tile * Shape::kQueries;
    if (exists(p)) tiles = KeyTiles::of(visible(p), first, last(p), Shape::kQueries, Shape::kKeys);
  }
  __device__ Sequence sequence(const HopperParameters& p) const {
    return p.problem.each == nullptr ? p.problem.same : p.problem.each[s];
  }
  __device__ Visible visible(const HopperParameters& p) const {
    const Sequence at = sequence(p);
    return {at.key_count, at.query_offset, p.problem.window_left, p.problem.window_right, p.problem.causal != 0};
  }
  __device__ std::int64_t last(const HopperParameters& p) const {
    return min(std::int64_t{first} + Shape::kQueries, sequence(p).queries) - 1;
  }
  __device__ bool exists(const HopperParameters& p) const {
    return first < sequence(p).queries && sequence(p).queries > p.problem.few;
  }
  // The assembler must see that a warp's threads agree on these, or it makes products wait for each other.
  __device__ __forceinline__ void make_uniform() {
    tiles = {uniform(tiles.begin), uniform(tiles.all_begin), uniform(tiles.all_end), uniform(tiles.end)};
  }
};

template <class Shape>
__device__ void fetch(const HopperParameters& p, HopperMemory<Shape>& memory) {
  int fetched = 0, rounds = 0;
  for (int start = 0; start < p.schedule.total(); start += gridDim.x) {
    const int index = p.schedule.index(start, blockIdx.x, gridDim.x);
    if (index >= p.schedule.total()) continue;
    const Work<Shape> work(p, index);
    if (work.tiles.count() == 0) continue;
    const int sequence = p.problem.packed != 0 ? 0 : work.s, key_head = work.h / p.problem.group;
    barrier_wait(&memory.q_empty, (rounds++ & 1) ^ 1);
    barrier_expect(&memory.q_full, Shape::kQueryBytes);
    const int row = static_cast<int>(work.sequence(p).query_begin + work.first);
#pragma unroll
    for (int c = 0; c < Shape::kChunks; ++c)
      copy_box(memory.q + c * Shape::kQueries * kRowBytes, &p.q, &memory.q_full, c * kChunkColumns, row, work.h,
               sequence);
    for (int tile = work.tiles.end - 1; tile >= work.tiles.begin; --tile, ++fetched) {
      const int stage = fetched % Shape::kStages, phase = (fetched / Shape::kStages & 1) ^ 1;
      const int key = static_cast<int>(work.sequence(p).key_begin) + tile * Shape::kKeys;
      barrier_wait(&memory.k_empty[stage], phase);
      barrier_expect(&memory.k_full[stage], Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < Shape::kChunks; ++c)
        copy_box(memory.k[stage] + c * Shape::kKeys * kRowBytes, &p.k, &memory.k_full[stage], c * kChunkColumns,
                 key, key_head, sequence);
      barrier_wait(&memory.v_empty[stage], phase);
      barrier_expect(&memory.v_full[stage], Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < Shape::kChunks; ++c)
        copy_box(memory.v[stage] + c * Shape::kKeys * kRowBytes, &p.v, &memory.v_full[stage], c * kChunkColumns,
                 key, key_head, sequence);
    }
  }
}

template <class Shape>
__device__ __forceinline__ void store_state(const HopperParameters& p, const Work<Shape>& work, std::int64_t row,
                                            float max, float sum) {
  if (p.target.max.data == nullptr) return;
  *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.max, work.s, work.h, row))) = max;
  *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.sum, work.s, work.h, row))) = sum;
}

// The registers of a consumer: two rows (r = 0, 1) of 64.
template <class T, class Shape, bool kGeneral>
struct Consumer {
  static constexpr int kKeys = Shape::kKeys, kD = Shape::kD;
  static constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.69314718055994531f;
  static constexpr ExponentBits kExponents = std::is_same_v<T, __half> ? kF16Exponents : kBf16Exponents;

  const HopperParameters& p;
  HopperMemory<Shape>& memory;
  const int thread, warpgroup;
  float o[kD / 2], s[kKeys / 2], largest[2], sum[2], alpha[2];
  std::uint32_t weights[kKeys / 4];
  int taken = 0;  // tiles of keys so far
  bool strange = false;  // a value of a tile with hidden keys was not finite

  __device__ Consumer(const HopperParameters& parameters, HopperMemory<Shape>& shared, int t, int w)
      : p(parameters), memory(shared), thread(t), warpgroup(w) {}

  __device__ int stage() const { return taken % Shape::kStages; }
  __device__ int phase() const { return taken / Shape::kStages & 1; }
  __device__ int row(int r) const { return warpgroup * 64 + sum_row(thread, 2 * r); }
  __device__ float unit() const { return kGeneral ? 1.f : p.log2_scale; }  // of s, in powers of 2

  __device__ __forceinline__ void multiply_keys(std::uint32_t q, int at) {
    const std::uint32_t k = shared_address(memory.k[at]);
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, s, row_operand(q, Shape::kQueries, step), row_operand(k, kKeys, step), step != 0);
  }
  __device__ __forceinline__ void multiply_values(int at) {
    const std::uint32_t v = shared_address(memory.v[at]);
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step)
      multiply_registers(T{}, o, weights + 4 * step, column_operand(v, kKeys, step), 1);
  }

  // The columns of a tile that row r sees by position.
  struct Columns {
    int begin, end;
  };
  __device__ __forceinline__ Columns seen(const Work<Shape>& work, int tile, int r) const {
    const KeySpan span = work.visible(p).keys_of(work.first + row(r));
    const std::int64_t at = std::int64_t{tile} * kKeys;
    return {static_cast<int>(max(span.begin - at, std::int64_t{0})),
            static_cast<int>(min(span.end - at, std::int64_t{kKeys}))};
  }

  __device__ __forceinline__ void hide_by_position(const Work<Shape>& work, int tile) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Columns columns = seen(work, tile, r);
#pragma unroll
      for (int e = 0; e < kKeys / 4; ++e) {
        const int x = sum_of_row(r, e), column = sum_column(thread, x);
        if (column < columns.begin || column >= columns.end) s[x] = -CUDART_INF_F;
      }
    }
  }

  // What the options make of a tile's scores, in powers of 2. One option after the other: what only one of them
  // needs takes no registers from the rest.
  __device__ __forceinline__ void apply_options(const Work<Shape>& work, int tile) {
    const Problem& problem = p.problem;
    if (problem.softcap != 0) {  // cap tanh(x / cap), as 1 - 2 / (1 + e^2x)
      const float inner = problem.scale * (2 * kLog2e) / problem.softcap, cap = problem.softcap * kLog2e;
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x)
        s[x] = cap - __fdividef(2 * cap, 1.f + exp2_unit(fminf(s[x] * inner, 80.f)));
    } else {
      const float scale = p.log2_scale;
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x) s[x] *= scale;
    }
    if (problem.slopes != nullptr) {
      const float slope = problem.slopes[work.h] * kLog2e;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float position = static_cast<float>(work.first + row(r) + work.sequence(p).query_offset -
                                                  std::int64_t{tile} * kKeys);
#pragma unroll
        for (int e = 0; e < kKeys / 4; ++e) {
          const int x = sum_of_row(r, e);
          s[x] -= slope * fabsf(position - static_cast<float>(sum_column(thread, x)));
        }
      }
    }
    if (problem.bias.data != nullptr) {
      look_up(work, tile, problem.bias, [](float& score, float bias) {
        score = bias == -CUDART_INF_F ? -CUDART_INF_F : fmaf(bias, kLog2e, score);  // whatever the key holds
      });
    }
    if (problem.mask.data != nullptr) {
      look_up(work, tile, problem.mask, [](float& score, float mask) { score = mask != 0 ? score : -CUDART_INF_F; });
    }
    hide_by_position(work, tile);
  }

  // Calls use(score, number) for every score of a key that is seen, with its number in a mask or bias.
  template <class Use>
  __device__ __forceinline__ void look_up(const Work<Shape>& work, int tile, const PlacedBroadcast& from, Use use) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = min(std::int64_t{work.first} + row(r), work.last(p));
      const Columns columns = seen(work, tile, r);
      const std::int64_t at = work.s * from.sequence + work.h * from.head + i * from.row +
                              (std::int64_t{tile} * kKeys + thread % 4 * 2) * from.element;
#pragma unroll
      for (int e = 0; e < kKeys / 4; ++e) {
        const int x = sum_of_row(r, e), column = sum_column(thread, x);
        if (column >= columns.begin && column < columns.end) {
          const std::int64_t index = at + (sum_column(0, x)) * from.element;
          use(s[x], from.number == Number::boolean ? static_cast<float>(from.data[index] != 0)
                                                   : load_float(from.data, from.number, index));
        }
      }
    }
  }

  template <bool kHidden>
  __device__ __forceinline__ float power(float x, int pair) const {
    if (Shape::kPolynomialEvery == 0 || pair % (Shape::kPolynomialEvery + (Shape::kPolynomialEvery == 0)) != 0)
      return exp2_unit(x);
    const float clamped = fmaxf(x, -126.f);
    const float whole = clamped + 12582912.f;  // 1.5 * 2^23: rounds to a whole number in its low bits
    const float y = exp2_polynomial(clamped - (whole - 12582912.f));
    const float result = __int_as_float(__float_as_int(y) + (__float_as_int(whole) << 23));
    return kHidden && x < -126.f ? 0.f : result;
  }

  // s becomes the weights of the tile, relative to the largest score so far; alpha is what earlier tiles are to
  // be multiplied with.
  template <bool kHidden>
  __device__ __forceinline__ void softmax() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float a = s[2 * r];
#pragma unroll
      for (int x = 2 * r; x < kKeys / 2; x += 4) a = fmaxf(a, fmaxf(s[x], s[x + 1]));
      a = fmaxf(a, __shfl_xor_sync(~0u, a, 1));
      a = fmaxf(a, __shfl_xor_sync(~0u, a, 2));
      const float now = fmaxf(largest[r], a);
      const bool none = kHidden && now == -CUDART_INF_F;  // no key of the row so far
      alpha[r] = none ? 1.f : exp2_unit((largest[r] - now) * unit());
      largest[r] = now;
      const float shift = none ? 0.f : now * unit();
      float added = 0;
#pragma unroll
      for (int x = 2 * r; x < kKeys / 2; x += 4) {
        s[x] = power<kHidden>(fmaf(s[x], unit(), -shift), x / 4);
        s[x + 1] = power<kHidden>(fmaf(s[x + 1], unit(), -shift), x / 4);
        added += s[x] + s[x + 1];
      }
      sum[r] = sum[r] * alpha[r] + added;
    }
  }

  __device__ __forceinline__ void drop(const Work<Shape>& work, int tile) {
    const Coins coins = Coins::of(p.problem.coin_threshold, p.problem.dropout_seed, work.s, work.h);
#pragma unroll
    for (int x = 0; x < kKeys / 2; ++x) {
      const std::int64_t i = work.first + row(x >> 1 & 1), j = std::int64_t{tile} * kKeys + sum_column(thread, x);
      s[x] *= coins.keeps(i, j) ? p.problem.kept : 0.f;
    }
  }

  __device__ __forceinline__ void round_weights() {
#pragma unroll
    for (int x = 0; x < kKeys / 4; ++x) weights[x] = packed(T{}, s[2 * x], s[2 * x + 1]);
  }

  // A weight of 0 times NaN is NaN, so where keys are hidden their values must be numbers. If any value of the
  // tile is not, zeros take their place for the product, and mend() adds those that take part at the end.
  __device__ __forceinline__ void guard_values() {
    const int at = stage();
    barrier_wait(&memory.v_full[at], phase());
    constexpr int kWords = Shape::kKeyBytes / 32;  // of 16 bytes, for each warpgroup
    uint4* const words = reinterpret_cast<uint4*>(memory.v[at]) + warpgroup * kWords;
    std::uint32_t found = 0;
#pragma unroll 4
    for (int x = thread; x < kWords; x += 128) {
      const uint4 w = words[x];
      found |= strange_halves(w.x, kExponents) | strange_halves(w.y, kExponents) | strange_halves(w.z, kExponents) |
               strange_halves(w.w, kExponents);
    }
    if (!pair_any(3, found != 0)) return;
    strange = true;
#pragma unroll 1
    for (int x = thread; x < kWords; x += 128) {
      const uint4 w = words[x];
      words[x] = make_uint4(without_strange(w.x, kExponents), without_strange(w.y, kExponents),
                            without_strange(w.z, kExponents), without_strange(w.w, kExponents));
    }
    publish_to_products();
    pair_sync(4);
  }

  // Adds what is no number to outputs that are stored already: two threads a row, each its own columns.
  __device__ __forceinline__ void mend(const Work<Shape>& work) {
    pair_sync(4);  // the row was stored by others
    const Head head(p.problem, work.s, work.h);
    const std::int64_t i = std::int64_t{work.first} + warpgroup * 64 + thread / 2;
    if (i > work.last(p)) return;
    const KeySpan span = head.visible.keys_of(i);
    char* const out =
        const_cast<char*>(Head::row_of(p.target.out, work.s, work.h, work.sequence(p).query_begin + i));
    for (std::int64_t j = span.begin; j < span.end; ++j) {
      if (!hides(work, static_cast<int>(j / kKeys)) || !head.takes_part(p.problem, i, j)) continue;
      for (std::int64_t c = thread % 2; c < p.problem.dv; c += 2) {
        const float value = load_float(head.v, p.problem.v.number, j * p.problem.v.row + c * p.problem.v.element);
        const std::int64_t at = c * p.target.out.element;
        if (!isfinite(value))
          store_float(out, p.target.out.number, at, load_float(out, p.target.out.number, at) + value);
      }
    }
  }

  // The scores of a tile are there: weights out of them.
  template <bool kHidden>
  __device__ __forceinline__ void weigh(const Work<Shape>& work, int tile) {
    if constexpr (kGeneral) {
      apply_options(work, tile);
      softmax<true>();
      if (p.problem.drops()) drop(work, tile);
    } else {
      if constexpr (kHidden) hide_by_position(work, tile);
      softmax<kHidden>();
    }
  }
  // Whether a hidden key's value could do harm.
  __device__ bool hides(const Work<Shape>& work, int tile) const {
    return tile < work.tiles.all_begin || tile >= work.tiles.all_end ||
           (kGeneral && (p.problem.mask.data != nullptr || p.problem.bias.data != nullptr));
  }

  // One more tile: its scores beside the output of the tile before it.
  template <bool kHidden>
  __device__ __forceinline__ void step(const Work<Shape>& work, std::uint32_t q, int tile) {
    const int before = stage(), before_phase = phase();
    ++taken;
    barrier_wait(&memory.k_full[stage()], phase());
    pair_sync(1 + warpgroup);
    products_fence();
    multiply_keys(q, stage());
    products_commit();
    barrier_wait(&memory.v_full[before], before_phase);
    multiply_values(before);
    products_commit();
    pair_arrive(2 - warpgroup);
    products_wait<1>();
    if (thread == 0) barrier_arrive(&memory.k_empty[stage()]);
    weigh<kHidden>(work, tile);
    products_wait<0>();
    if (thread == 0) barrier_arrive(&memory.v_empty[before]);
#pragma unroll
    for (int x = 0; x < kD / 2; ++x) o[x] *= alpha[x >> 1 & 1];
    round_weights();
    if (kHidden && (!kGeneral || hides(work, tile))) guard_values();
  }

  template <bool kHidden>
  __device__ __forceinline__ void steps(const Work<Shape>& work, std::uint32_t q, int begin, int end) {
#pragma unroll 1
    for (int tile = end - 1; tile >= begin; --tile) step<kHidden>(work, q, tile);
  }

  __device__ __forceinline__ void compute(const Work<Shape>& work, int round) {
    const std::uint32_t q = shared_address(memory.q) + warpgroup * 64 * kRowBytes;
#pragma unroll
    for (int x = 0; x < kD / 2; ++x) o[x] = 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      largest[r] = -CUDART_INF_F;
      sum[r] = 0;
    }
    const int tile = work.tiles.end - 1;
    strange = false;
    barrier_wait(&memory.q_full, round & 1);
    barrier_wait(&memory.k_full[stage()], phase());
    products_fence();
    multiply_keys(q, stage());
    products_commit();
    products_wait<0>();
    if (thread == 0) barrier_arrive(&memory.k_empty[stage()]);
    weigh<true>(work, tile);
    round_weights();
    if (hides(work, tile)) guard_values();
    if constexpr (kGeneral) {
      steps<true>(work, q, work.tiles.begin, tile);
    } else {
#pragma unroll 1
      for (int part = 0; part < 3; ++part) {  // hidden on the right, open, hidden on the left
        if (part == 1) {
          steps<false>(work, q, work.tiles.all_begin, min(work.tiles.all_end, tile));
        } else {
          steps<true>(work, q, part == 0 ? work.tiles.all_end : work.tiles.begin,
                      part == 0 ? tile : min(work.tiles.all_begin, tile));
        }
      }
    }
    if (thread == 0) barrier_arrive(&memory.q_empty);
    barrier_wait(&memory.v_full[stage()], phase());
    products_fence();
    multiply_values(stage());
    products_commit();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
    }
    products_wait<0>();
    if (thread == 0) barrier_arrive(&memory.v_empty[stage()]);
    ++taken;
  }

  // Divides by the sums, sinks included, and stores.
  __device__ __forceinline__ void finish(const Work<Shape>& work) {
    const Problem& problem = p.problem;
    const ForwardTarget& target = p.target;
    const float sink = problem.sinks == nullptr ? -CUDART_INF_F : problem.sinks[work.h];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = std::int64_t{work.first} + row(r);
      // The weights were made around the largest score in powers of 2, which was rounded; this makes up for it.
      const bool none = largest[r] == -CUDART_INF_F;
      const float shift = __fmul_rn(largest[r], unit());
      const float rounding = none ? 1.f : exp2_unit(-fmaf(largest[r], unit(), -shift));
      float max = none ? largest[r] : largest[r] * (kGeneral ? kLn2 : problem.scale);
      float total = sum[r] * rounding, factor = rounding;
      if (sink > max) {
        const float less = exp2_unit((max - sink) * kLog2e);
        total = total * less + 1;
        factor *= less;
        max = sink;
      } else if (sink != -CUDART_INF_F) {
        total += exp2_unit((sink - max) * kLog2e);
      }
      const float inverse = total == 0 ? 0.f : factor / total;
      if (i > work.last(p)) continue;
      const std::int64_t at = work.sequence(p).query_begin + i;
      if (thread % 4 == 0) store_state(p, work, at, isnan(total) ? total : max, total);
      char* const out = const_cast<char*>(Head::row_of(target.out, work.s, work.h, at));
      // One loop for each way to store, so that none of them asks at every element.
      if (p.pairs_of_output != 0 && target.out.number != Number::f32) {
        store_row(r, inverse, [&](int column, float a, float b) {
          if (column < problem.dv) *reinterpret_cast<std::uint32_t*>(out + column * 2) = packed(T{}, a, b);
        });
      } else if (p.pairs_of_output != 0) {
        store_row(r, inverse, [&](int column, float a, float b) {
          if (column < problem.dv) *reinterpret_cast<float2*>(out + column * 4) = make_float2(a, b);
        });
      } else {
        store_row(r, inverse, [&](int column, float a, float b) {
          const auto store = [&](int at, float value) {
            if (at >= problem.dv) return;
            char* const to = out + at * target.out.element * (target.out.number == Number::f32 ? 4 : 2);
            if (target.out.number == Number::f32) {
              *reinterpret_cast<float*>(to) = value;
            } else {
              *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(packed(T{}, value, value));
            }
          };
          store(column, a);
          store(column + 1, b);
        });
      }
    }
  }

  template <class Store>
  __device__ __forceinline__ void store_row(int r, float inverse, Store store) {
#pragma unroll
    for (int x = 2 * r; x < kD / 2; x += 4) store(sum_column(thread, x), o[x] * inverse, o[x + 1] * inverse);
  }
};

// Queries that see no key: zeros, and the sink alone.
template <class Shape>
__device__ __forceinline__ void store_nothing(const HopperParameters& p, const Work<Shape>& work, int thread) {
  const float sink = p.problem.sinks == nullptr ? -CUDART_INF_F : p.problem.sinks[work.h];
  for (std::int64_t i = std::int64_t{work.first} + thread; i <= work.last(p); i += 256) {
    const std::int64_t at = work.sequence(p).query_begin + i;
    char* const out = const_cast<char*>(Head::row_of(p.target.out, work.s, work.h, at));
    for (std::int64_t c = 0; c < p.problem.dv; ++c) store_float(out, p.target.out.number, c * p.target.out.element, 0);
    store_state(p, work, at, sink, sink == -CUDART_INF_F ? 0.f : 1.f);
  }
}

template <class T, class Shape, bool kGeneral>
__global__ void __launch_bounds__(384, 1) hopper_kernel(const __grid_constant__ HopperParameters p) {
  extern __shared__ char raw[];
  auto& memory = *reinterpret_cast<HopperMemory<Shape>*>((reinterpret_cast<std::uintptr_t>(raw) + 1023) &
                                                         ~std::uintptr_t{1023});
  if (threadIdx.x == 0) {
    barrier_init(&memory.q_full, 1);
    barrier_init(&memory.q_empty, 2);
    for (int i = 0; i < Shape::kStages; ++i) {
      barrier_init(&memory.k_full[i], 1);
      barrier_init(&memory.k_empty[i], 2);
      barrier_init(&memory.v_full[i], 1);
      barrier_init(&memory.v_empty[i], 2);
    }
    barriers_ready();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<24>();
    if (threadIdx.x == 0) fetch<Shape>(p, memory);
  } else {
    take_registers<240>();
    const int warpgroup = uniform(threadIdx.x / 128) - 1;
    Consumer<T, Shape, kGeneral> consumer(p, memory, threadIdx.x % 128, warpgroup);
    if (warpgroup == 1) pair_arrive(1);  // the first turn is the first's
    int rounds = 0;
    for (int start = 0; start < p.schedule.total(); start += gridDim.x) {
      const int index = p.schedule.index(start, blockIdx.x, gridDim.x);
      if (index >= p.schedule.total()) continue;
      Work<Shape> work(p, index);
      if (!work.exists(p)) continue;
      work.make_uniform();
      if (work.tiles.count() == 0) {
        store_nothing(p, work, threadIdx.x - 128);
        continue;
      }
      consumer.compute(work, rounds++);
      consumer.finish(work);
      if (consumer.strange) consumer.mend(work);
    }
  }
}

template <class Shape, bool kGeneral>
void launch_hopper(plugin::Place place, const HopperParameters& parameters, int blocks) {
  constexpr int kBytes = sizeof(HopperMemory<Shape>) + 1024;
  const auto launch = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
          "get shared memory for attention");
    kernel<<<static_cast<unsigned>(blocks), 384, kBytes, static_cast<cudaStream_t>(place.stream)>>>(parameters);
    check(cudaGetLastError(), "launch attention");
  };
  if (parameters.problem.q.number == Number::f16) return launch(hopper_kernel<__half, Shape, kGeneral>);
  launch(hopper_kernel<__nv_bfloat16, Shape, kGeneral>);
}

}  // namespace attend::cuda
