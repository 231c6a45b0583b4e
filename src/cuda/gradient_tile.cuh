// 32 queries against 32 keys, backwards, in f32: the weights and what their scores' gradients are, made again
// from the row terms. 128 threads; each has four rows and two keys.
#pragma once

#include "cuda/backward.h"
#include "cuda/head.cuh"

namespace attend::cuda {

inline constexpr int kGradientRows = 32, kGradientKeys = 32, kGradientSlice = 32;
inline constexpr int kGradientThreads = 128, kGradientLanes = 16;  // 8 groups of 4 rows, 16 threads each

struct GradientSlices {
  float rows[kGradientRows][kGradientSlice + 1], keys[kGradientKeys][kGradientSlice + 1];
};

// With w = softmax(b), m what dropout multiplies with, and c' the slope of the soft cap:
//   weight = m w     change = w (m d_out . v - delta), the gradient of b     through = change c', that of s / scale
// All 0 where the key takes no part.
struct GradientTile {
  float weight[4][2], change[4][2], through[4][2];
  bool part[4][2];

  __device__ static int row(int r) { return threadIdx.x / kGradientLanes * 4 + r; }
  __device__ static int key(int x) { return threadIdx.x % kGradientLanes + x * kGradientLanes; }

  // sums[r][x] = the product of a row of `a` and a row of `b`, `n` columns, in ascending order. Rows beyond the
  // given counts are 0.
  __device__ static void multiply(GradientSlices& slices, const char* a, const Placed& a_place, std::int64_t a_rows,
                                  const char* b, const Placed& b_place, std::int64_t b_rows, std::int64_t n,
                                  float (&sums)[4][2]) {
    for (int r = 0; r < 4; ++r) sums[r][0] = sums[r][1] = 0;
    for (std::int64_t slice = 0; slice < n; slice += kGradientSlice) {
      __syncthreads();
      for (int x = threadIdx.x; x < kGradientRows * kGradientSlice; x += kGradientThreads) {
        const int at = x / kGradientSlice, column = x % kGradientSlice;
        const bool in = slice + column < n;
        slices.rows[at][column] =
            in && at < a_rows ? load_float(a, a_place.number, at * a_place.row + (slice + column) * a_place.element)
                              : 0.f;
        slices.keys[at][column] =
            in && at < b_rows ? load_float(b, b_place.number, at * b_place.row + (slice + column) * b_place.element)
                              : 0.f;
      }
      __syncthreads();
#pragma unroll 8
      for (int c = 0; c < kGradientSlice; ++c) {
        const float left = slices.keys[key(0)][c], right = slices.keys[key(1)][c];
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          sums[r][0] = fmaf(slices.rows[row(r)][c], left, sums[r][0]);
          sums[r][1] = fmaf(slices.rows[row(r)][c], right, sums[r][1]);
        }
      }
    }
  }

  __device__ static const char* moved(const char* data, const Placed& place, std::int64_t rows) {
    return data + rows * place.row * Head::bytes_of(place.number);
  }

  // kChange: change and through as well.
  template <bool kChange>
  __device__ void make(const BackwardProblem& b, const Head& head, std::int64_t s, std::int64_t h, std::int64_t query,
                       std::int64_t first_key, GradientSlices& slices) {
    const Problem& p = b.problem;
    const std::int64_t queries = head.sequence.queries, keys = head.sequence.keys;
    float scores[4][2], products[4][2] = {};
    multiply(slices, moved(head.q, p.q, query), p.q, queries - query, moved(head.k, p.k, first_key), p.k,
             keys - first_key, p.d, scores);
    if (kChange && p.dv > 0)
      multiply(slices, moved(Head::row_of(b.d_out, s, h, head.sequence.query_begin), b.d_out, query), b.d_out,
               queries - query, moved(head.v, p.v, first_key), p.v, keys - first_key, p.dv, products);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::int64_t i = query + row(r);
      const bool exists = i < queries;
      const KeySpan span = head.visible.keys_of(i);
      const std::int64_t at = b.rows.at(s, h, head.sequence.query_begin + (exists ? i : query));
      const float base = b.rows.base[at], inverse = b.rows.inverse[at], delta = b.rows.delta[at];
      for (int x = 0; x < 2; ++x) {
        const std::int64_t j = first_key + key(x);
        const float score = p.scale * scores[r][x];
        const float biased = exists ? head.biased(p, span, i, j, score) : -CUDART_INF_F;
        part[r][x] = biased != -CUDART_INF_F;
        // The largest score may have been rounded in another way than this one.
        const float below = biased - base;
        const float w = part[r][x] ? expf(below > 0 ? 0.f : below) * inverse : 0.f;
        const float kept = !p.drops() || !part[r][x] ? 1.f : head.coins.keeps(i, j) ? p.kept : 0.f;
        weight[r][x] = w * kept;
        if constexpr (kChange) {
          change[r][x] = part[r][x] ? w * (kept * products[r][x] - delta) : 0.f;
          through[r][x] = change[r][x];
          if (p.softcap != 0 && part[r][x]) {
            const float tanh = tanhf(score / p.softcap);
            through[r][x] *= 1 - tanh * tanh;
          }
        }
      }
    }
  }
};

}  // namespace attend::cuda
