// What the backward pass needs of each row, and the one gradient that needs nothing else: that of the sinks.
#include "cuda/backward.h"
#include "cuda/error.h"
#include "cuda/head.cuh"
#include "cuda/walk.cuh"

namespace attend::cuda {
namespace {

constexpr int kRowThreads = 256, kWarpsOfBlock = kRowThreads / 32;

// Eight elements of 16 bits, multiplied and added.
template <class T>
__device__ float dot_of_eight(const uint4& a, const uint4& b) {
  const T* const x = reinterpret_cast<const T*>(&a);
  const T* const y = reinterpret_cast<const T*>(&b);
  float sum = 0;
#pragma unroll
  for (int e = 0; e < 8; ++e) sum = fmaf(static_cast<float>(x[e]), static_cast<float>(y[e]), sum);
  return sum;
}

// Some lanes for each row, eight neighbouring columns for each lane. kLanes: so many, for tensors that are both 16-bit of
// one type, in whole pieces of 16 bytes; 0: a warp, whatever they are. The sums are made in the same order: lanes beyond
// the columns have zeros to add.
template <int kLanes>
__global__ void __launch_bounds__(kRowThreads)
    row_terms_kernel(const BackwardProblem b, Placed max, Placed sum, std::int64_t longest, std::int64_t total) {
  constexpr bool kWide = kLanes != 0;
  constexpr int kLanesOfRow = kWide ? kLanes : 32, kRowsOfWarp = 32 / kLanesOfRow;
  constexpr std::uint32_t kAll = ~0u >> (32 - kLanesOfRow);
  const Problem& p = b.problem;
  const int lane = threadIdx.x % kLanesOfRow, place = threadIdx.x % 32 / kLanesOfRow;
  const std::int64_t step = gridDim.x * std::int64_t{kWarpsOfBlock * kRowsOfWarp};
  for (std::int64_t first = (blockIdx.x * std::int64_t{kWarpsOfBlock} + threadIdx.x / 32) * kRowsOfWarp; first < total;
       first += step) {
    const std::int64_t index = first + place, i = index % longest, h = index / longest % p.heads,
                       s = index / longest / p.heads;
    const Sequence sequence = p.each == nullptr || index >= total ? p.same : p.each[s];
    const bool exists = index < total && i < sequence.queries;
    const std::int64_t row = sequence.query_begin + i;
    float dot = 0;
    bool zero = true;
    if (exists && b.out.data != nullptr) {
      const char* const out = Head::row_of(b.out, s, h, row);
      const char* const d_out = Head::row_of(b.d_out, s, h, row);
      if constexpr (kWide) {
        if (lane * 8 < p.dv) {
          const uint4 x = reinterpret_cast<const uint4*>(out)[lane], y = reinterpret_cast<const uint4*>(d_out)[lane];
          dot = b.out.number == Number::f16 ? dot_of_eight<__half>(x, y) : dot_of_eight<__nv_bfloat16>(x, y);
          zero = ((x.x | x.y | x.z | x.w) & 0x7FFF7FFFu) == 0;
        }
      } else {
        for (std::int64_t at = lane * 8; at < p.dv; at += 256) {
#pragma unroll 1
          for (std::int64_t c = at; c < min(at + 8, p.dv); ++c) {
            const float x = load_float(out, b.out.number, c * b.out.element);
            dot = fmaf(x, load_float(d_out, b.d_out.number, c * b.d_out.element), dot);
            zero = zero && x == 0;
          }
        }
      }
    }
#pragma unroll
    for (int apart = kLanesOfRow / 2; apart > 0; apart /= 2) dot += __shfl_xor_sync(~0u, dot, apart);
    zero = (__ballot_sync(~0u, zero) >> (place * kLanesOfRow) & kAll) == kAll;
    if (lane != 0 || !exists) continue;
    const float largest = *reinterpret_cast<const float*>(Head::row_of(max, s, h, row));
    const float all = *reinterpret_cast<const float*>(Head::row_of(sum, s, h, row));
    const bool empty = all == 0;
    // Alone, a sink leaves (sink, 1) and no output: d_out does not matter then, even if it is NaN.
    const bool only_sink = p.sinks != nullptr && all == 1 && largest == p.sinks[h] && zero;
    const std::int64_t at = b.rows.at(s, h, row);
    b.rows.base[at] = empty ? 0.f : largest;
    b.rows.inverse[at] = empty ? 0.f : 1 / all;
    b.rows.delta[at] = empty || only_sink ? 0.f : dot;
    b.rows.log2_sum[at] = empty ? CUDART_INF_F : fmaf(largest, 1.4426950408889634f, log2f(all));
  }
}

__global__ void __launch_bounds__(kRowThreads)
    sink_kernel(const BackwardProblem b, PerHeadTarget target, std::int64_t sequences, std::int64_t longest) {
  __shared__ double parts[kRowThreads];
  const Problem& p = b.problem;
  const std::int64_t h = blockIdx.x;
  double sum = 0;
  for (std::int64_t s = 0; s < sequences; ++s) {
    const Sequence sequence = p.each == nullptr ? p.same : p.each[s];
    for (std::int64_t i = threadIdx.x; i < sequence.queries; i += kRowThreads) {
      const std::int64_t at = b.rows.at(s, h, sequence.query_begin + i);
      sum -= exp(double{p.sinks[h]} - double{b.rows.base[at]}) * double{b.rows.inverse[at]} *
             double{b.rows.delta[at]};
    }
  }
  parts[threadIdx.x] = sum;
  for (int half = kRowThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) store_double(target.data, target.number, h * target.stride, parts[0]);
}

// Rows in whole pieces of 16 bytes.
bool is_wide(const Placed& tensor) {
  return size_of(tensor.number) == 2 && tensor.element == 1 && tensor.row % 8 == 0 && tensor.head % 8 == 0 &&
         tensor.sequence % 8 == 0 && reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0;
}

}  // namespace

void make_row_terms(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
                    const Placed& max, const Placed& sum) {
  const std::int64_t total = call.longest_queries * call.query_heads * call.sequence_count;
  const bool wide = backward.out.number == backward.d_out.number && is_wide(backward.out) &&
                    is_wide(backward.d_out) && call.dv % 8 == 0 && call.dv <= 256;
  const auto launch = [&](auto kernel, int rows_of_warp) {
    const std::int64_t rows = std::int64_t{rows_of_warp} * kWarpsOfBlock, blocks = (total + rows - 1) / rows;
    kernel<<<static_cast<unsigned>(blocks < (1 << 30) ? blocks : (1 << 30)), kRowThreads, 0,
             static_cast<cudaStream_t>(place.stream)>>>(backward, max, sum, call.longest_queries, total);
    check(cudaGetLastError(), "launch the terms of rows");
  };
  if (!wide) return launch(row_terms_kernel<0>, 1);
  if (call.dv <= 64) return launch(row_terms_kernel<8>, 4);
  if (call.dv <= 128) return launch(row_terms_kernel<16>, 2);
  launch(row_terms_kernel<32>, 1);
}

void sink_gradient(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
                   const PerHeadTarget& target) {
  sink_kernel<<<static_cast<unsigned>(call.query_heads), kRowThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      backward, target, call.sequence_count, call.longest_queries);
  check(cudaGetLastError(), "launch the gradient of the sinks");
}

}  // namespace attend::cuda
