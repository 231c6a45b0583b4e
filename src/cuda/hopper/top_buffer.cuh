// The largest scores of each row, 8 of them, while tiles of scores go by. Four threads share a row and have every
// fourth pair of its keys. A score that is larger than the row's eighth so far is only written down, in a
// buffer of the thread; when some buffer of the warp is nearly full, each thread sorts its own into its list of
// 8, and the four lists say what the eighth is. Keys come in rising order, so that of equal scores the first
// stays.
#pragma once

#include <math_constants.h>

#include "cuda/hopper/fragments.h"

namespace attend::cuda {

struct TopMemory {
  static constexpr int kTop = 8, kRoom = 16, kGroup = 8, kThreads = 256;
  float waiting[2][kRoom][kThreads], best[2][kTop][kThreads];
  std::int32_t waiting_keys[2][kRoom][kThreads], best_keys[2][kTop][kThreads];
};

struct TopBuffer {
  static constexpr int kTop = TopMemory::kTop, kRoom = TopMemory::kRoom, kGroup = TopMemory::kGroup;
  TopMemory& memory;
  const int at;    // the thread, of 256
  int count[2];    // waiting
  float least[2];  // what a newcomer must be larger than

  __device__ TopBuffer(TopMemory& shared, int thread) : memory(shared), at(thread) {}

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      count[r] = 0;
      least[r] = -CUDART_INF_F;
#pragma unroll 1
      for (int place = 0; place < kTop; ++place) {
        memory.best[r][place][at] = -CUDART_INF_F;
        memory.best_keys[r][place][at] = INT32_MAX;
      }
    }
  }

  // The scores of a tile that begins with this key, hidden ones at -inf. All threads of a warp.
  template <int kSums>
  __device__ __forceinline__ void look(const float (&s)[kSums], int key) {
    constexpr int kGroups = kSums / 2 / kGroup;
    const int first = key + sum_column(static_cast<int>(threadIdx.x), 0);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      int done = 0;  // groups of columns
      bool full;
      do {
        full = false;
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          if (g < done || full) continue;
          float largest = s[sum_of_row(r, g * kGroup)];
#pragma unroll
          for (int e = 1; e < kGroup; ++e) largest = fmaxf(largest, s[sum_of_row(r, g * kGroup + e)]);
          if (!__any_sync(~0u, largest > least[r])) continue;
          full = __any_sync(~0u, count[r] > kRoom - kGroup);
          done = g;
          if (full) continue;
#pragma unroll
          for (int e = 0; e < kGroup; ++e) {
            const int x = sum_of_row(r, g * kGroup + e);
            if (s[x] > least[r]) {
              memory.waiting[r][count[r]][at] = s[x];
              memory.waiting_keys[r][count[r]][at] = first + sum_column(0, x);
              ++count[r];
            }
          }
        }
        if (full) sort(r);
      } while (full);
    }
  }

  // Those that wait enter the list of the thread, and the row's eighth is looked up. All threads of a warp.
  __device__ __forceinline__ void sort(int r) {
    float best[kTop];
    std::int32_t keys[kTop];
#pragma unroll
    for (int place = 0; place < kTop; ++place) {
      best[place] = memory.best[r][place][at];
      keys[place] = memory.best_keys[r][place][at];
    }
    const int waiting = count[r];
#pragma unroll 1
    for (int i = 0; i < waiting; ++i) {
      const float x = memory.waiting[r][i][at];
      const std::int32_t key = memory.waiting_keys[r][i][at];
#pragma unroll
      for (int place = kTop - 1; place >= 0; --place) {
        const bool moves = place > 0 && x > best[place > 0 ? place - 1 : 0], enters = x > best[place];
        best[place] = moves ? best[place > 0 ? place - 1 : 0] : enters ? x : best[place];
        keys[place] = moves ? keys[place > 0 ? place - 1 : 0] : enters ? key : keys[place];
      }
    }
#pragma unroll
    for (int place = 0; place < kTop; ++place) {
      memory.best[r][place][at] = best[place];
      memory.best_keys[r][place][at] = keys[place];
    }
    __syncwarp();
    // The 8 largest of two sorted lists are the larger of each pair, one list read backwards.
#pragma unroll
    for (int step = 1; step <= 2; step *= 2) {
      float other[kTop];
#pragma unroll
      for (int place = 0; place < kTop; ++place) other[place] = __shfl_xor_sync(~0u, best[kTop - 1 - place], step);
#pragma unroll
      for (int place = 0; place < kTop; ++place) best[place] = fmaxf(best[place], other[place]);
      if (step == 2) break;  // the order no longer matters
#pragma unroll
      for (int apart = kTop / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int place = 0; place < kTop; ++place) {
          if ((place & apart) != 0) continue;
          const float high = fmaxf(best[place], best[place + apart]);
          best[place + apart] = fminf(best[place], best[place + apart]);
          best[place] = high;
        }
      }
    }
    float eighth = best[0];
#pragma unroll
    for (int place = 1; place < kTop; ++place) eighth = fminf(eighth, best[place]);
    if (r == 0) {
      least[0] = eighth;
      count[0] = 0;
    } else {
      least[1] = eighth;
      count[1] = 0;
    }
  }

  // Calls take(place, score, key) in the row's order, key -1 where there are no more, for the first of the four
  // threads. All threads of a warp, after sort().
  template <class Take>
  __device__ __forceinline__ void each(int r, Take take) {
    int place_of_mine = 0;
#pragma unroll 1
    for (int place = 0; place < kTop; ++place) {
      const int mine = min(place_of_mine, kTop - 1);
      float score = place_of_mine < kTop ? memory.best[r][mine][at] : -CUDART_INF_F;
      std::int32_t key = place_of_mine < kTop ? memory.best_keys[r][mine][at] : INT32_MAX;
      const std::int32_t my_key = key;
#pragma unroll
      for (int step = 1; step <= 2; step *= 2) {
        const float other = __shfl_xor_sync(~0u, score, step);
        const std::int32_t other_key = __shfl_xor_sync(~0u, key, step);
        const bool better = other > score || (other == score && other_key < key);
        score = better ? other : score;
        key = better ? other_key : key;
      }
      if (key == my_key) ++place_of_mine;
      if (at % 4 == 0) take(place, score, key == INT32_MAX ? -1 : key);
    }
  }
};

}  // namespace attend::cuda
