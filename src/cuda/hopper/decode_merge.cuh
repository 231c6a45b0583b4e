// The second kernel of decoding: what the pieces gave a row becomes its output and its state, in an order that only
// the number of pieces decides.
#pragma once

#include "cuda/hopper/decode_fetch.cuh"

namespace attend::cuda {

// Puts together what the pieces gave a row: a warp for every run of 16, several rows in a block where runs are few.
template <class Shape>
__global__ void __launch_bounds__(kMostRuns * 32) decode_merge_kernel(const __grid_constant__ DecodeParameters p, int runs) {
  extern __shared__ float parts[];  // (warp, kD + 1): sums of values, and of weights
  constexpr int kPairs = Shape::kD / 64, kWidth = Shape::kD + 1;
  const int lane = threadIdx.x % 32, run = threadIdx.x / 32 % runs, first_warp = threadIdx.x / 32 - run;
  const std::int64_t rows = p.row(p.sequences, 0, 0);
  const std::int64_t asked = std::int64_t{blockIdx.x} * (blockDim.x / 32 / runs) + threadIdx.x / 32 / runs;
  const std::int64_t row = min(asked, rows - 1);
  const std::int64_t i = row % p.most_queries, h = row / p.most_queries % p.problem.heads,
                     s = row / p.most_queries / p.problem.heads;
  const Sequence sequence = decode_sequence(p, s);
  const bool exists = asked < rows && i < sequence.queries && sequence.queries <= kMostDecodedQueries;
  const KeySpan span = decode_visible(p, sequence).keys_of(i);
  const int log2 = log2_decode_piece(sequence.key_count);
  const std::int64_t piece = std::int64_t{1} << log2;
  const auto first = static_cast<int>(span.begin >> log2);
  const int count = !exists || span.begin == span.end
                        ? 0
                        : static_cast<int>((span.end + piece - 1) >> log2) - first;
  const std::int64_t start = row * p.pieces + first;
  const float2* const state = p.state + start;
  const float sink = p.problem.sinks == nullptr ? -CUDART_INF_F : p.problem.sinks[h];
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");

  // Everything is on its way before the first of it is needed.
  constexpr int kAhead = kPairs <= 2 ? 8 : 4;
  const int run_count = min(count - run * kRun, kRun);
  const float2* const from = reinterpret_cast<const float2*>(p.sums + (start + run * kRun) * Shape::kD) + lane;
  float2 values[kAhead][kPairs];
  const auto load = [&](int first_of_them) {
#pragma unroll
    for (int x = 0; x < kAhead; ++x) {
#pragma unroll
      for (int y = 0; y < kPairs; ++y) {
        if (first_of_them + x < run_count) values[x][y] = from[(first_of_them + x) * (Shape::kD / 2) + y * 32];
      }
    }
  };
  float2 own = {-CUDART_INF_F, 0};
  if (lane < run_count) own = state[run * kRun + lane];
  load(0);
  float largest = -CUDART_INF_F;
#pragma unroll
  for (int c = 0; c < kMostPieces; c += 32) {
    if (c + lane < count) largest = fmaxf(largest, state[c + lane].x);
  }
#pragma unroll
  for (int step = 1; step < 32; step *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
  const float shift = largest == -CUDART_INF_F ? 0.f : largest, own_weight = exp2_unit(own.x - shift);
  float2 added[kPairs] = {};
  float total = 0;
#pragma unroll
  for (int group = 0; group < kRun; group += kAhead) {
    if (group != 0) load(group);
#pragma unroll
    for (int x = 0; x < kAhead; ++x) {
      const float weight = __shfl_sync(~0u, own_weight, group + x), weights = __shfl_sync(~0u, own.y, group + x);
      if (group + x >= run_count) continue;
      total = fmaf(weight, weights, total);
#pragma unroll
      for (int y = 0; y < kPairs; ++y) {
        added[y].x = fmaf(weight, values[x][y].x, added[y].x);
        added[y].y = fmaf(weight, values[x][y].y, added[y].y);
      }
    }
  }
  float* const mine = parts + threadIdx.x / 32 * kWidth;
#pragma unroll
  for (int y = 0; y < kPairs; ++y) {
    mine[(y * 32 + lane) * 2] = added[y].x;
    mine[(y * 32 + lane) * 2 + 1] = added[y].y;
  }
  if (lane == 0) mine[Shape::kD] = total;
  __syncthreads();
  if (!exists) return;

  const float* const all = parts + first_warp * kWidth;
  const int row_runs = (count + kRun - 1) / kRun;
  total = 0;
  for (int w = 0; w < row_runs; ++w) total += all[w * kWidth + Shape::kD];
  float max = largest == -CUDART_INF_F ? largest : largest * kDecodeLn2, factor = 1;
  if (sink > max) {
    factor = exp2_unit((max - sink) * kDecodeLog2e);
    total = total * factor + 1;
    max = sink;
  } else if (sink != -CUDART_INF_F) {
    total += exp2_unit((sink - max) * kDecodeLog2e);
  }
  const float inverse = total == 0 ? 0.f : factor / total;
  const std::int64_t at = sequence.query_begin + i;
  char* const out = const_cast<char*>(Head::row_of(p.target.out, s, h, at));
  for (int column = run * 32 + lane; column < p.problem.dv; column += runs * 32) {
    float value = 0;
    for (int w = 0; w < row_runs; ++w) value += all[w * kWidth + column];
    store_float(out, p.target.out.number, column * p.target.out.element, value * inverse);
  }
  if (run == 0 && lane == 0 && p.target.max.data != nullptr) {
    *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.max, s, h, at))) = isnan(total) ? total : max;
    *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.sum, s, h, at))) = total;
  }
}

}  // namespace attend::cuda
