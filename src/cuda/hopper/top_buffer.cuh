// The largest scores of each row, 8 of them, while tiles of scores go by. Four threads share a row and have
// every fourth pair of its keys; a thread has two rows. It compares its scores with what the rows' eighth
// was, and where one of four neighbours (two columns of two rows) is larger, it writes down all four. That
// comparison is all that most scores cost. Now and then, at the same tiles in all warps of a warpgroup since
// they wait for each other, and when some thread of a warp has no room left, what waits enters the lists of
// the rows: one score of a row at a time, in the order of their keys, eight rows at once and both rows of a
// thread side by side. A list
// of 8 lies in four threads, two places in each.
//
// The first tiles would write down most, so that some are surveyed before: a bound that 8 scores of the row
// reach takes only maxima.
//
// Tiles come in rising order of keys, and what waits has entered the lists before their eighth is read, so
// that an equal score that comes later may be left out.
#pragma once

#include <math_constants.h>

#include "cuda/hopper/fragments.h"
#include "cuda/hopper/instructions.cuh"
#include "cuda/hopper/top_ranks.h"

namespace attend::cuda {

// A thread's scores wait in a column of its own.
template <int kRoomOfThread, int kThreadsOfBlock>
struct TopMemory {
  static constexpr int kRoom = kRoomOfThread, kThreads = kThreadsOfBlock;
  float4 waiting[kRoom][kThreads];
  TwoPlaces best[2][kThreads];           // of each row's list
  std::int32_t keys[kRoom][kThreads];  // the first of what waits
  float2 least[kThreads];                // what a newcomer must be larger than, of each row
};

template <class Memory, int kBand>
struct TopBuffer {
  static constexpr int kRoom = Memory::kRoom, kStep = Memory::kThreads * 16;
  static_assert(kRoom >= 2);
  Memory& memory;
  std::uint32_t place;  // where the next scores are written

  __device__ explicit TopBuffer(Memory& shared) : memory(shared) {}
  __device__ static __forceinline__ int at() { return static_cast<int>(threadIdx.x) - 128 + kBand * Memory::kThreads / 2; }

  __device__ __forceinline__ std::uint32_t first_place() const {
    return shared_address(&memory.waiting[0][at()]);
  }

  __device__ __forceinline__ void clear() {
    place = first_place();
    memory.best[0][at()] = memory.best[1][at()] = TwoPlaces();
    memory.least[at()] = make_float2(-CUDART_INF_F, -CUDART_INF_F);
  }

  // Before a tile is looked at, the first and any other: the largest of each of 8 groups of the row's keys
  // are 8 of its scores, so that what is smaller than all of these cannot stay.
  template <int kSums>
  __device__ __forceinline__ void start(const float (&s)[kSums]) {
    float bounds[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float group[2] = {s[sum_of_row(r, 0)], s[sum_of_row(r, 1)]};
#pragma unroll
      for (int e = 2; e < kSums / 2; ++e) group[e % 2] = fmaxf(group[e % 2], s[sum_of_row(r, e)]);
      bounds[r] = fminf(group[0], group[1]);
    }
    raise(bounds);
  }

  // The same from several tiles: of each thread's groups, a tile each, the two that have the largest scores.
  struct Survey {
    float first[2], second[2];

    __device__ __forceinline__ Survey() { first[0] = first[1] = second[0] = second[1] = -CUDART_INF_F; }
    template <int kSums>
    __device__ __forceinline__ void add(const float (&s)[kSums]) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float largest[2] = {s[sum_of_row(r, 0)], s[sum_of_row(r, 1)]};
#pragma unroll
        for (int e = 2; e < kSums / 2; ++e) largest[e % 2] = fmaxf(largest[e % 2], s[sum_of_row(r, e)]);
        const float group = fmaxf(largest[0], largest[1]);
        second[r] = fmaxf(second[r], fminf(first[r], group));
        first[r] = fmaxf(first[r], group);
      }
    }
  };
  // What all four threads of a row agree on: its scores below the smallest of these bounds cannot stay.
  __device__ __forceinline__ void raise(const float (&bounds)[2]) {
    float below[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float bound = fminf(bounds[r], __shfl_xor_sync(~0u, bounds[r], 1));
      bound = fminf(bound, __shfl_xor_sync(~0u, bound, 2));
      below[r] = bound - fabsf(bound) * 0x1p-22f - 1e-37f;  // the bound itself may stay
    }
    float2& least = memory.least[at()];
    least = make_float2(fmaxf(least.x, below[0]), fmaxf(least.y, below[1]));
  }

  // The scores of a tile of 128 keys, hidden ones at -inf, in three steps, so that others can be made between
  // those of the middle one: begin, 8 pairs of octets of keys in order, end. All threads of a warp.
  struct Look {
    std::uint32_t before, keys, key;  // where the tile's begin to wait, where their keys lie, the thread's first
    float2 least;
  };
  __device__ __forceinline__ Look begin_look(int tile) const {
    return {place, to_keys(), first_key(tile), memory.least[at()]};
  }
  __device__ __forceinline__ void look_at(const Look& look, const float* s, int pair) {
    write_if_larger(s + 8 * pair, look.least, look.keys, look.key + 16 * pair);
  }
  template <int kSums>
  __device__ __forceinline__ void end_look(const Look& look, const float (&s)[kSums], int tile) {
    if (!__any_sync(~0u, place > behind_last())) return;
    place = look.before;  // some of the tile's did not fit
    look_in_blocks(s, tile);
  }

  // Those that wait enter the lists of their rows. All threads of a warp.
  __device__ __forceinline__ void sort() {
    const std::uint32_t begin = first_place();
    if (!__any_sync(~0u, place != begin)) return;
    const float2 least = memory.least[at()];
    Line lines[2] = {{begin, memory.best[0][at()], least.x}, {begin, memory.best[1][at()], least.y}};
    bool more;
#pragma unroll 1
    do {
      more = false;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        next(lines[r], r);
        more = more | (lines[r].place != place) | (lines[r].newcomer.key != Scored::kNoKey);
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) enter(lines[r]);
    } while (__any_sync(~0u, more));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      memory.best[r][at()] = lines[r].best;
      lines[r].least = fmaxf(lines[r].least, __shfl_sync(~0u, lines[r].best.second.score, 3, 4));
    }
    memory.least[at()] = make_float2(lines[0].least, lines[1].least);
    place = begin;
  }

  // Calls take(place, score, key) for the two places of the row that this thread has, key -1 where there are
  // no more. After sort().
  template <class Take>
  __device__ __forceinline__ void each(int r, Take take) {
    const TwoPlaces mine = memory.best[r][at()];
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      const Scored one = x == 0 ? mine.first : mine.second;
      take(at() % 4 * 2 + x, one.score, one.key == Scored::kNoKey ? -1 : static_cast<std::int64_t>(one.key));
    }
  }

 private:
  // What a thread has left to enter into the list of a row, which is that of four threads: from this place on,
  // and before that a newcomer, and the score of the key after it if that one is to enter, too.
  struct Line {
    std::uint32_t place;
    TwoPlaces best;
    float least;
    Scored newcomer;
    float after = Scored{}.score;
  };
  __device__ __forceinline__ std::uint32_t behind_last() const { return first_place() + kRoom * kStep; }
  // Of this thread's in a tile. A number of its own, or the compiler makes one for all threads and moves it to each.
  __device__ static __forceinline__ std::uint32_t first_key(int tile) { return tile * 128 + at() % 4 * 2; }
  __device__ __forceinline__ std::uint32_t to_keys() const {
    return shared_address(&memory.keys[0][at()]) - (first_place() >> 2);
  }

  // Puts what waits in order before every two octets, if some thread may lack room for them.
  template <int kSums>
  __device__ __forceinline__ void look_in_blocks(const float (&s)[kSums], int tile) {
    constexpr int kPairs = kSums / 8;
    const std::uint32_t keys = to_keys();
    int done = 0;
    bool full;
#pragma unroll 1
    do {
      full = false;
      std::uint32_t first = first_key(tile);
      asm volatile("" : "+r"(first));  // or what follows from it takes a register for each octet around the loop
      const float2 least = memory.least[at()];
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        if (pair < done || full) continue;
        full = __any_sync(~0u, place > behind_last() - 2 * kStep);
        done = pair;
        if (!full) write_if_larger(s + 8 * pair, least, keys, first + 16 * pair);
      }
      if (full) sort();
    } while (full);
  }

  // Two octets, without a branch: threads differ in what they keep. What does not fit is not written, but
  // counted. Together, since the steps of one wait for each other, and those of two wait half as long.
  __device__ __forceinline__ void write_if_larger(const float* s, float2 least, std::uint32_t keys,
                                                  std::uint32_t key) {
    asm volatile(
        "{\n.reg .pred a, b, c, d;\n.reg .u32 next, to, to_next;\n"
        "setp.gt.f32 a, %9, %10;\nsetp.gt.f32 c, %13, %10;\n"
        "setp.gt.or.f32 b, %11, %12, a;\nsetp.gt.or.f32 d, %14, %12, c;\n"
        "mov.u32 next, %0;\n@b add.u32 next, next, %15;\n"
        "setp.lt.and.u32 a, %0, %16, b;\nsetp.lt.and.u32 c, next, %16, d;\n"
        "shr.u32 to, %0, 2;\nadd.u32 to, to, %17;\nshr.u32 to_next, next, 2;\nadd.u32 to_next, to_next, %17;\n"
        "@a st.shared.v4.f32 [%0], {%1, %2, %3, %4};\n@a st.shared.b32 [to], %18;\n"
        "@c st.shared.v4.f32 [next], {%5, %6, %7, %8};\n@c st.shared.b32 [to_next], %19;\n"
        "@d add.u32 next, next, %15;\nmov.u32 %0, next;\n}\n"
        : "+r"(place)
        : "f"(s[0]), "f"(s[1]), "f"(s[2]), "f"(s[3]), "f"(s[4]), "f"(s[5]), "f"(s[6]), "f"(s[7]),
          "f"(fmaxf(s[0], s[1])), "f"(least.x), "f"(fmaxf(s[2], s[3])), "f"(least.y), "f"(fmaxf(s[4], s[5])),
          "f"(fmaxf(s[6], s[7])), "n"(kStep), "r"(behind_last()), "r"(keys), "r"(key), "r"(key + 8)
        : "memory");
  }

  // The thread's next newcomer, if it has none: at most one place of what waits is read. Without a branch, as
  // here too threads differ; what lies behind the last place is read and not looked at.
  __device__ __forceinline__ void next(Line& line, int r) const {
    const bool wanted = line.newcomer.key == Scored::kNoKey && line.place != place;
    float2 scores;
    std::uint32_t key;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(scores.x), "=f"(scores.y)
                 : "r"(line.place + 8 * r)
                 : "memory");
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(key) : "r"((line.place >> 2) + to_keys()) : "memory");
    // No condition after &&, which would become a branch.
    const bool one = wanted & (scores.x > line.least), other = wanted & (scores.y > line.least);
    if (other) line.newcomer = {scores.y, key + 1};
    if (one) line.newcomer = {scores.x, key};
    if (one & other) line.after = scores.y;
    line.place += wanted ? kStep : 0;
  }
  // That of the lowest key of the four threads' newcomers enters the list; none is no larger than any.
  __device__ __forceinline__ void enter(Line& line) const {
    std::uint32_t key = min(line.newcomer.key, __shfl_xor_sync(~0u, line.newcomer.key, 1));
    key = min(key, __shfl_xor_sync(~0u, key, 2));
    const Scored offered{__shfl_sync(~0u, line.newcomer.score, owner_of(key), 4), key};
    Scored before{__shfl_up_sync(~0u, line.best.second.score, 1, 4), __shfl_up_sync(~0u, line.best.second.key, 1, 4)};
    if (at() % 4 == 0) before.score = CUDART_INF_F;
    line.best.enter(offered, before);
    if (line.newcomer.key != key) return;
    const bool more = line.after != -CUDART_INF_F;
    line.newcomer = {line.after, more ? key + 1 : Scored::kNoKey};
    line.after = -CUDART_INF_F;
  }
};

}  // namespace attend::cuda
