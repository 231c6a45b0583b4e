// The first warpgroup: one thread of it fetches tiles by TMA, its other three warps see to it that no hidden
// value does harm.
#pragma once

#include <type_traits>

#include "cuda/hopper/forward_work.cuh"
#include "cuda/hopper/fragments.h"
#include "cuda/hopper/strange.h"

namespace attend::cuda {

template <class Shape>
__device__ void fetch(const HopperParameters& p, HopperMemory<Shape>& memory) {
  int fetched = 0, rounds = 0;
  for_each_work<Shape>(p, [&](const Work<Shape>& work) {
    if (work.tiles.count() == 0) return;
    const int sequence = p.problem.packed != 0 ? 0 : work.s, key_head = work.h / p.problem.group;
    const int of_q = rounds % Shape::kQueryStages;
    barrier_wait(&memory.q_empty[of_q], (rounds / Shape::kQueryStages & 1) ^ 1);
    ++rounds;
    barrier_expect(&memory.q_full[of_q], Shape::kQueryBytes);
    const int row = static_cast<int>(work.sequence(p).query_begin + work.first);
#pragma unroll
    for (int c = 0; c < Shape::kChunks; ++c)
      copy_box(memory.q[of_q] + c * Shape::kQueries * kRowBytes, &p.q, &memory.q_full[of_q],
               c * kChunkColumns, row, work.h, sequence);
    for (int tile = work.tiles.end - 1; tile >= work.tiles.begin; --tile, ++fetched) {
      const int stage = fetched % Shape::kStages, phase = (fetched / Shape::kStages & 1) ^ 1;
      const int key = static_cast<int>(work.sequence(p).key_begin) + tile * Shape::kKeys;
      barrier_wait(&memory.k_empty[stage], phase);
      barrier_expect(&memory.k_full[stage], Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < Shape::kChunks; ++c)
        copy_box(memory.k[stage] + c * Shape::kKeys * kRowBytes, &p.k, &memory.k_full[stage],
                 c * kChunkColumns, key, key_head, sequence);
      barrier_wait(&memory.v_empty[stage], phase);
      barrier_expect(&memory.v_full[stage], Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < Shape::kChunks; ++c)
        copy_box(memory.v[stage] + c * Shape::kKeys * kRowBytes, &p.v, &memory.v_full[stage],
                 c * kChunkColumns, key, key_head, sequence);
    }
  });
}

// A number times 0, added to what is there: 0 stays 0 as long as all numbers are finite.
__device__ __forceinline__ std::uint32_t add_zero_times(__nv_bfloat16, std::uint32_t word, std::uint32_t to) {
  asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(to) : "r"(word), "r"(0));
  return to;
}
__device__ __forceinline__ std::uint32_t add_zero_times(__half, std::uint32_t word, std::uint32_t to) {
  asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(to) : "r"(word), "r"(0));
  return to;
}

// A checker's share of a tile of values: whether there is one that is no number, and zeros in the place of
// those.
template <class T, class Shape>
__device__ __forceinline__ bool clear_strange_values(char* tile, int checker) {
  constexpr ExponentBits kExponents = std::is_same_v<T, __half> ? kF16Exponents : kBf16Exponents;
  constexpr int kWords = Shape::kKeyBytes / 16, kStep = 32 * kCheckers;
  uint4* const words = reinterpret_cast<uint4*>(tile) + checker * 32 + threadIdx.x % 32;
  const int count = (kWords - checker * 32 - static_cast<int>(threadIdx.x % 32) + kStep - 1) / kStep;
  std::uint32_t sum = 0;
  constexpr int kAtOnce = Shape::kProducerRegisters < 40 ? 1 : 4;  // as registers allow
#pragma unroll kAtOnce
  for (int x = 0; x < count; ++x) {
    const uint4 w = words[x * kStep];
    sum = add_zero_times(T{}, w.x, sum);
    sum = add_zero_times(T{}, w.y, sum);
    sum = add_zero_times(T{}, w.z, sum);
    sum = add_zero_times(T{}, w.w, sum);
  }
  if (!__any_sync(~0u, strange_halves(sum, kExponents) != 0)) return false;
#pragma unroll 1
  for (int x = 0; x < count; ++x) {
    const uint4 w = words[x * kStep];
    words[x * kStep] = make_uint4(without_strange(w.x, kExponents), without_strange(w.y, kExponents),
                                  without_strange(w.z, kExponents), without_strange(w.w, kExponents));
  }
  publish_to_products();
  __syncwarp();
  return true;
}

// Has the L2 cache read a tile of a bias, so that the consumers wait for less when they ask.
template <class Shape>
__device__ __forceinline__ void read_bias_ahead(const HopperParameters& p, const Work<Shape>& work, int tile,
                                                int checker) {
  constexpr int kLine = 128;
  const int bytes = p.bias.number == Number::f32 ? 4 : 2;
  const int row = checker * 32 + static_cast<int>(threadIdx.x % 32), first = tile * Shape::kKeys;
  const char* from = p.bias.data + work.s * p.bias.sequence + work.h * p.bias.head +
                     (work.first + row) * p.bias.row + first * bytes;
  const int count = (min(Shape::kKeys, p.bias.columns - first) * bytes + kLine - 1) / kLine;
#pragma unroll 1
  for (int i = work.first + row; i <= work.last(p);
       i += 32 * kCheckers, from += 32 * kCheckers * p.bias.row) {
#pragma unroll 1
    for (int line = 0; line < count; ++line)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(from + line * kLine));
  }
}

// A weight of 0 times NaN is NaN, so where keys are hidden their values must be numbers. If any value of the
// tile is not, zeros take its place for the product, and add_strange() adds those that take part at the end.
// Every tile passes through here; of those that are not looked at nobody is told.
template <class T, class Shape, bool kReadsBias>
__device__ void check_values(const HopperParameters& p, HopperMemory<Shape>& memory, int checker, bool all) {
  int passed = 0, checks = 0;
  std::uint32_t told = 0;  // what `found` says, a bit a stage; it is mostly 0 and stays so
  for_each_work<Shape>(p, [&](const Work<Shape>& work) {
    for (int tile = work.tiles.end - 1; tile >= work.tiles.begin; --tile, ++passed) {
      const int stage = passed % Shape::kStages, phase = passed / Shape::kStages & 1;
      if constexpr (kReadsBias) read_bias_ahead(p, work, tile, checker);
      barrier_wait(&memory.v_full[stage], phase);
      const bool looked_at = all || work.hides(tile);
      const bool found = looked_at && clear_strange_values<T, Shape>(memory.v[stage], checker);
      // Consumers ask about the first tile of a work whether or not it hides a key.
      const bool asked_for = looked_at || tile == work.tiles.end - 1;
      if (threadIdx.x % 32 == 0) {
        if (asked_for) {
          const int at = checks % Shape::kStages;
          if (found != ((told >> at & 1) != 0)) {
            memory.found[at][checker] = found;
            told ^= 1u << at;
          }
          barrier_arrive(&memory.v_checked[at]);
        }
        barrier_arrive(&memory.v_empty[stage]);
      }
      checks += asked_for;
    }
  });
}

}  // namespace attend::cuda
