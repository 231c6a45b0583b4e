// The largest scores of each row, 8 of them, while tiles of scores go by. Four threads share a row and have
// every fourth pair of its keys; a thread has two rows. It compares its scores with what the rows' eighth
// was, and where one of four neighbours (two columns of two rows) is larger, it writes down all four. That
// comparison is all that most scores cost. Now and then, at the same tiles in all warps of a warpgroup since
// they wait for each other, and when some thread of a warp has no room left, what waits enters the lists of
// the rows: one score of a row at a time, eight rows at once and both rows of a thread side by side. A list
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
  std::int32_t octets[kRoom][kThreads];  // keys / 8 of what waits
};

template <class Memory>
struct TopBuffer {
  static constexpr int kRoom = Memory::kRoom, kBlocks = 4, kStep = Memory::kThreads * 16;
  static_assert(kRoom >= 2 * kBlocks);
  Memory& memory;
  const int at;         // the thread
  std::uint32_t place;  // where the next scores are written
  TwoPlaces best[2];    // of each row's list
  float2 least;         // what a newcomer must be larger than, of each row

  __device__ TopBuffer(Memory& shared, int thread) : memory(shared), at(thread) {}

  __device__ __forceinline__ std::uint32_t first_place() const {
    return shared_address(&memory.waiting[0][at]);
  }
  __device__ __forceinline__ std::uint32_t behind_last() const { return first_place() + kRoom * kStep; }

  __device__ __forceinline__ void clear() {
    place = first_place();
    best[0] = best[1] = TwoPlaces();
    least = make_float2(-CUDART_INF_F, -CUDART_INF_F);
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
    least = make_float2(fmaxf(least.x, below[0]), fmaxf(least.y, below[1]));
  }

  // The scores of a tile of 128 keys, hidden ones at -inf, and whether it is time to put in order what waits.
  // All threads of a warp.
  template <int kSums>
  __device__ __forceinline__ void look(const float (&s)[kSums], int tile, bool due) {
    constexpr int kOctets = kSums / 4;
    if (due) sort();
    const std::uint32_t before = place, octets = to_octets();
#pragma unroll
    for (int octet = 0; octet < kOctets; ++octet)
      write_if_larger(s + 4 * octet, octets, tile * kOctets + octet);
    if (!__any_sync(~0u, place > behind_last())) return;
    place = before;  // some of the tile's did not fit
    look_in_blocks(s, tile);
  }

  // Those that wait enter the lists of their rows. All threads of a warp.
  __device__ __forceinline__ void sort() {
    const std::uint32_t begin = first_place();
    if (!__any_sync(~0u, place != begin)) return;
    Line lines[2] = {{begin, best[0], least.x}, {begin, best[1], least.y}};
    bool more;
#pragma unroll 1
    do {
#pragma unroll
      for (int r = 0; r < 2; ++r) next(lines[r], r);
      more = lines[0].place != place || lines[1].place != place ||
             (lines[0].newcomer | lines[1].newcomer) != kNoRank;
#pragma unroll
      for (int r = 0; r < 2; ++r) enter(lines[r]);
    } while (__any_sync(~0u, more));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      best[r] = lines[r].best;
      const Rank eighth = __shfl_sync(~0u, lines[r].best.second, 3, 4);
      if (eighth != kNoRank) lines[r].least = fmaxf(lines[r].least, __uint_as_float(score_bits_of(eighth)));
    }
    least = make_float2(lines[0].least, lines[1].least);
    place = begin;
  }

  // Calls take(place, score, key) for the two places of the row that this thread has, key -1 where there are
  // no more. After sort().
  template <class Take>
  __device__ __forceinline__ void each(int r, Take take) {
    const TwoPlaces mine = best[r];
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      const Rank one = x == 0 ? mine.first : mine.second;
      take(at % 4 * 2 + x, __uint_as_float(score_bits_of(one)),
           one == kNoRank ? -1 : static_cast<std::int64_t>(key_of(one)));
    }
  }

 private:
  // What a thread has left to enter into the list of a row, which is that of four threads.
  struct Line {
    std::uint32_t place;
    TwoPlaces best;
    float least;
    Rank newcomer = kNoRank, after = kNoRank;
  };
  __device__ __forceinline__ std::uint32_t to_octets() const {
    return shared_address(&memory.octets[0][at]) - (first_place() >> 2);
  }

  // Puts what waits in order before each few octets, if some thread may lack room for them.
  template <int kSums>
  __device__ __forceinline__ void look_in_blocks(const float (&s)[kSums], int tile) {
    constexpr int kOctets = kSums / 4;
    const std::uint32_t octets = to_octets();
    int done = 0;
    bool full;
#pragma unroll 1
    do {
      full = false;
#pragma unroll
      for (int begin = 0; begin < kOctets; begin += kBlocks) {
        if (begin < done || full) continue;
        full = __any_sync(~0u, place > behind_last() - kBlocks * kStep);
        done = begin;
        if (full) continue;
#pragma unroll
        for (int octet = begin; octet < begin + kBlocks; ++octet)
          write_if_larger(s + 4 * octet, octets, tile * kOctets + octet);
      }
      if (full) sort();
    } while (full);
  }

  // Without a branch: threads differ in what they keep. What does not fit is not written, but counted.
  __device__ __forceinline__ void write_if_larger(const float* s, std::uint32_t octets, int octet) {
    asm volatile(
        "{\n.reg .pred a, b, c;\nsetp.gt.f32 a, %7, %8;\nsetp.gt.or.f32 b, %9, %10, a;\nsetp.lt.and.u32 c, "
        "%0, %12, b;\n"
        "@c st.shared.v4.f32 [%0], {%1, %2, %3, %4};\n@c st.shared.b32 [%5], %6;\n@b add.u32 %0, %0, "
        "%11;\n}\n"
        : "+r"(place)
        : "f"(s[0]), "f"(s[1]), "f"(s[2]), "f"(s[3]), "r"((place >> 2) + octets), "r"(octet),
          "f"(fmaxf(s[0], s[1])), "f"(least.x), "f"(fmaxf(s[2], s[3])), "f"(least.y), "n"(kStep),
          "r"(behind_last())
        : "memory");
  }

  // The thread's next newcomer, if it has none: at most one place of what waits is read. Without a branch, as
  // here too threads differ; what lies behind the last place is read and not looked at.
  __device__ __forceinline__ void next(Line& line, int r) const {
    const bool wanted = line.newcomer == kNoRank && line.place != place;
    float2 scores;
    std::uint32_t octet;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(scores.x), "=f"(scores.y)
                 : "r"(line.place + 8 * r)
                 : "memory");
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(octet) : "r"((line.place >> 2) + to_octets()) : "memory");
    const std::uint32_t key = octet * 8 + at % 4 * 2;
    const Rank one = scores.x > line.least ? rank(scores.x, key) : kNoRank,
               other = scores.y > line.least ? rank(scores.y, key + 1) : kNoRank;
    line.newcomer = wanted ? (one != kNoRank ? one : other) : line.newcomer;
    line.after = wanted ? (one != kNoRank ? other : kNoRank) : line.after;
    line.place += wanted ? kStep : 0;
  }
  // The newcomer of the first of the four threads that has one enters the list; none is no larger than any.
  __device__ __forceinline__ void enter(Line& line) const {
    const std::uint32_t some = __ballot_sync(~0u, line.newcomer != kNoRank) >> (at & 28) & 15;
    const int from = __ffs(static_cast<int>(some)) - 1;
    const Rank offered = __shfl_sync(~0u, line.newcomer, from, 4),
               before = __shfl_up_sync(~0u, line.best.second, 1, 4);
    line.best.enter(offered, at % 4 == 0 ? ~Rank{0} : before);
    const bool mine = from == at % 4;
    line.newcomer = mine ? line.after : line.newcomer;
    line.after = mine ? kNoRank : line.after;
  }
  __device__ static __forceinline__ Rank rank(float score, std::uint32_t key) {
    return rank_of(__float_as_uint(score + 0.f), key);  // -0 becomes 0
  }
};

}  // namespace attend::cuda
