// Keys that are cut into pieces, in plain f32: what a piece leaves for a row, and the kernel that puts the
// pieces of a row together.
#pragma once

#include "cuda/attention.h"
#include "cuda/decode_plan.h"
#include "cuda/head.cuh"

namespace attend::cuda {

// What the pieces of a row leave, at (sequence, head, query, piece).
struct Pieces {
  float2* state;  // the largest score, and the sum of weights relative to it
  float* sums;    // of weights times values, `columns` of them
  std::int64_t columns, pieces, most_queries, key_heads, parts;

  __device__ std::int64_t at(std::int64_t heads, std::int64_t s, std::int64_t h, std::int64_t i) const {
    return ((s * heads + h) * most_queries + i) * pieces;
  }
};

__device__ inline Sequence sequence_of(const Problem& p, std::int64_t s) {
  return p.each == nullptr ? p.same : p.each[s];
}
__device__ inline Visible visible_of(const Problem& p, const Sequence& sequence) {
  return {sequence.key_count, sequence.query_offset, p.window_left, p.window_right, p.causal != 0};
}

// Puts together what the pieces gave a row, in their order: a block for each row.
static __global__ void __launch_bounds__(128)
    merge_pieces_kernel(const Problem p, const ForwardTarget target, const Pieces left) {
  __shared__ float weights[kMostPieces];
  const std::int64_t i = blockIdx.x % left.most_queries, h = blockIdx.x / left.most_queries % p.heads,
                     s = blockIdx.x / left.most_queries / p.heads;
  const Sequence sequence = sequence_of(p, s);
  if (i >= sequence.queries || sequence.queries > kMostDecodedQueries) return;
  const KeySpan span = visible_of(p, sequence).keys_of(i);
  const int log2 = log2_decode_piece(sequence.key_count);
  const std::int64_t first = span.begin >> log2, piece = std::int64_t{1} << log2;
  const auto count = span.begin >= span.end ? 0 : static_cast<int>(((span.end + piece - 1) >> log2) - first);
  const std::int64_t start = left.at(p.heads, s, h, i) + first;
  const float sink = p.sinks == nullptr ? -CUDART_INF_F : p.sinks[h];
  float max = sink;
  for (int x = 0; x < count; ++x) max = fmaxf(max, left.state[start + x].x);
  const float shift = max == -CUDART_INF_F ? 0.f : max;
  if (threadIdx.x < count) weights[threadIdx.x] = expf(left.state[start + threadIdx.x].x - shift);
  __syncthreads();
  float sum = sink == -CUDART_INF_F ? 0.f : expf(sink - shift);
  for (int x = 0; x < count; ++x) sum = fmaf(weights[x], left.state[start + x].y, sum);
  const bool none = max == -CUDART_INF_F && sum == 0;
  const std::int64_t row = sequence.query_begin + i;
  char* const out = const_cast<char*>(Head::row_of(target.out, s, h, row));
  for (std::int64_t column = threadIdx.x; column < p.dv; column += 128) {
    float value = 0;
#pragma unroll 8
    for (int x = 0; x < count; ++x)
      value = fmaf(weights[x], left.sums[(start + x) * left.columns + column], value);
    store_float(out, target.out.number, column * target.out.element, none ? 0.f : value / sum);
  }
  if (threadIdx.x != 0 || target.max.data == nullptr) return;
  *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(target.max, s, h, row))) = isnan(sum) ? sum : max;
  *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(target.sum, s, h, row))) = sum;
}

}  // namespace attend::cuda
