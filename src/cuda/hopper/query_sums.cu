// d_q out of the sums that the blocks of the fast backward pass have added up (backward_order.h): scaled, and
// each number brought from where the registers of the product had it to where its view has it.
#include "cuda/error.h"
#include "cuda/head.cuh"
#include "cuda/hopper/backward_parameters.h"
#include "cuda/hopper/fragments.h"

namespace attend::cuda {
namespace {

constexpr int kThreads = 256;

// Eight neighbours of a row, at an address that takes them at once, if they are of 16 bits.
bool in_whole_pieces(const Placed& target, std::int64_t width) {
  return size_of(target.number) == 2 && target.element == 1 && width % 8 == 0 && target.row % 8 == 0 &&
         target.head % 8 == 0 && target.sequence % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(target.data) % 16 == 0;
}

__device__ std::uint32_t pair_of(Number number, float a, float b) {
  if (number == Number::f16) {
    const __half2 pair = __floats2half2_rn(a, b);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
  const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// A block for each tile of queries. A thread takes eight columns of two rows at a time: what four threads of
// the product had of them.
template <bool kWide>
__global__ void __launch_bounds__(kThreads)
    query_sums_kernel(const BackwardProblem b, const QuerySums sums, std::int64_t tiles, int head_size) {
  const Problem& p = b.problem;
  const std::int64_t tile = blockIdx.x % tiles, row = blockIdx.x / tiles;
  const std::int64_t h = row % p.heads, s = row / p.heads;
  const Sequence sequence = p.each == nullptr ? p.same : p.each[s];
  const std::int64_t first = tile * sums.layout.rows_of_tile;
  if (first >= sequence.queries) return;
  const std::int64_t at = sums.layout.at(s, h, sequence.query_begin, tile) * 2;
  for (int task = threadIdx.x; task < 2 * 8 * 32; task += kThreads) {
    const int group = task % 8, thread = task / 8 % 32 * 4, half = task / 256;  // the first of four threads
    const int column = group * 8 + (head_size == 128 ? half * 64 : 0);
    if (column >= p.d) continue;
    float found[2][8] = {};
    if (sums.next[at / 2] != 0) {
      const float4* const from =
          reinterpret_cast<const float4*>(sums.sums) + ((at + half) * 8 + group) * 128 + thread;
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const float4 four = from[x];
        found[0][2 * x] = four.x * p.scale;
        found[0][2 * x + 1] = four.y * p.scale;
        found[1][2 * x] = four.z * p.scale;
        found[1][2 * x + 1] = four.w * p.scale;
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t i = first + sum_row(thread, 2 * r) + (head_size == 128 ? 0 : half * 64);
      if (i >= sequence.queries) continue;
      char* const to = const_cast<char*>(Head::row_of(b.d_q, s, h, sequence.query_begin + i));
      if constexpr (kWide) {
        const float(&f)[8] = found[r];
        const Number number = b.d_q.number;
        reinterpret_cast<uint4*>(to)[column / 8] =
            make_uint4(pair_of(number, f[0], f[1]), pair_of(number, f[2], f[3]), pair_of(number, f[4], f[5]),
                       pair_of(number, f[6], f[7]));
      } else {
#pragma unroll
        for (int c = 0; c < 8; ++c)
          if (column + c < p.d) store_float(to, b.d_q.number, (column + c) * b.d_q.element, found[r][c]);
      }
    }
  }
}

}  // namespace

void store_query_sums(plugin::Place place, const BackwardProblem& backward, const QuerySums& sums,
                      std::int64_t sequences, std::int64_t tiles, std::int64_t head_size) {
  const auto kernel =
      in_whole_pieces(backward.d_q, backward.problem.d) ? query_sums_kernel<true> : query_sums_kernel<false>;
  const std::int64_t blocks = sequences * backward.problem.heads * tiles;
  if (blocks == 0) return;
  kernel<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      backward, sums, tiles, static_cast<int>(head_size));
  check(cudaGetLastError(), "launch the gradient of the queries");
}

}  // namespace attend::cuda
