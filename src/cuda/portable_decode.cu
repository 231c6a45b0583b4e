// Few queries on many keys in plain f32 multiply-adds, for every device, type and option, heads of up to 256.
// The keys are cut into pieces as for the fast kernel (decode_plan.h), a block each, so that a single query
// has the whole device; a second kernel puts the pieces of a row together in their order. The rows of a block
// are the queries of a sequence and the heads that share a key head, so that keys and values are read once
// for 4 or 8 of them.
#include "cuda/error.h"
#include "cuda/portable_pieces.cuh"

namespace attend::cuda {
namespace {

constexpr int kWarps = 8, kThreads = kWarps * 32, kTile = 32;  // keys of a warp at a time, one for each lane
constexpr int kMostSize = 256;

// Four neighbouring elements of a row, 0 from `size` on. Wide: f32, side by side at addresses of 16 bytes.
template <bool kWide>
__device__ __forceinline__ float4 load_four(const char* row, const Placed& tensor, int first,
                                            std::int64_t size) {
  if (first >= size) return {0, 0, 0, 0};
  if (kWide) return *reinterpret_cast<const float4*>(row + first * std::int64_t{4});
  const auto one = [&](int x) {
    return first + x < size ? load_float(row, tensor.number, (first + x) * tensor.element) : 0.f;
  };
  return {one(0), one(1), one(2), one(3)};
}

// A warp's share of a piece: kRows rows, of whose outputs a lane has four columns, 128 apart, kFours times.
template <int kRows, int kFours, bool kWide>
struct Decoding {
  const Problem& p;
  const std::int64_t s, key_head;
  const int first_row, rows, lane;  // of the sequence; those from `rows` on are not there
  const Visible visible;
  const float (&q)[kRows][kMostSize];
  float (&weights)[kRows][kTile];
  float4 o[kRows][kFours] = {};
  float largest[kRows], sum[kRows] = {};  // each lane's own sum

  __device__ std::int64_t query(int r) const { return (first_row + r) / p.group; }
  __device__ std::int64_t head(int r) const { return key_head * p.group + (first_row + r) % p.group; }

  __device__ __forceinline__ void scores(const char* k, std::int64_t key, std::int64_t end,
                                         float (&score)[kRows]) const {
    const char* const row = k + min(key, end - 1) * p.k.row * Head::bytes_of(p.k.number);
#pragma unroll 4
    for (int c = 0; c < p.d; c += 4) {
      const float4 mine = load_four<kWide>(row, p.k, c, p.d);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float4 theirs = *reinterpret_cast<const float4*>(&q[r][c]);
        score[r] = fmaf(mine.x, theirs.x, score[r]);
        score[r] = fmaf(mine.y, theirs.y, score[r]);
        score[r] = fmaf(mine.z, theirs.z, score[r]);
        score[r] = fmaf(mine.w, theirs.w, score[r]);
      }
    }
  }

  // The weights of 32 keys, this lane's being `key`, and which of them take part. Whether all do for every
  // row.
  __device__ __forceinline__ bool weigh(std::int64_t key, const float (&score)[kRows],
                                        std::uint32_t (&parts)[kRows]) {
    bool all = true;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      parts[r] = 0;
      weights[r][lane] = 0;
      if (r >= rows) continue;
      const Head here(p, s, head(r));
      const float b = here.biased(p, visible.keys_of(query(r)), query(r), key, p.scale * score[r]);
      float now = fmaxf(largest[r], b);
      for (int step = 1; step < 32; step *= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, step));
      const float scale = now == largest[r] ? 1.f : expf(largest[r] - now);
      const bool part = b != -CUDART_INF_F;
      float weight = part ? expf(b - now) : 0.f;
      sum[r] = sum[r] * scale + weight;
      if (p.drops() && part) weight = here.coins.keeps(query(r), key) ? weight * p.kept : weight * 0;
      weights[r][lane] = weight;
      parts[r] = __ballot_sync(~0u, part);
      all = all && parts[r] == ~0u;
      largest[r] = now;
      if (scale == 1) continue;
#pragma unroll
      for (int x = 0; x < kFours; ++x)
        o[r][x] = {o[r][x].x * scale, o[r][x].y * scale, o[r][x].z * scale, o[r][x].w * scale};
    }
    __syncwarp();
    return all;
  }

  // kAll: every key takes part in every row. Else those that do not are left out, as their values may be NaN.
  template <bool kAll>
  __device__ __forceinline__ void add_values(const char* v, std::int64_t first, std::int64_t end,
                                             const std::uint32_t (&parts)[kRows]) {
#pragma unroll(kAll ? 8 : 1)
    for (int j = 0; j < kTile; ++j) {
      if (!kAll && first + j >= end) break;
      const char* const row = v + (first + j) * p.v.row * Head::bytes_of(p.v.number);
      float4 value[kFours];
#pragma unroll
      for (int x = 0; x < kFours; ++x) value[x] = load_four<kWide>(row, p.v, x * 128 + lane * 4, p.dv);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (!kAll && (parts[r] >> j & 1) == 0) continue;
        const float weight = weights[r][j];
#pragma unroll
        for (int x = 0; x < kFours; ++x) {
          o[r][x].x = fmaf(weight, value[x].x, o[r][x].x);
          o[r][x].y = fmaf(weight, value[x].y, o[r][x].y);
          o[r][x].z = fmaf(weight, value[x].z, o[r][x].z);
          o[r][x].w = fmaf(weight, value[x].w, o[r][x].w);
        }
      }
    }
    __syncwarp();
  }
};

template <int kRows, int kFours, bool kWide>
__global__ void __launch_bounds__(kThreads, 1)
    decode_kernel(const Problem p, const Pieces left, std::int64_t total) {
  __shared__ __align__(16) float q[kRows][kMostSize];
  __shared__ float weights[kWarps][kRows][kTile];
  __shared__ float2 states[kWarps][kRows];
  __shared__ __align__(16) float sums[kWarps][kFours * 128];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int64_t index = blockIdx.x; index < total; index += gridDim.x) {
    const auto piece = static_cast<std::int32_t>(index % left.pieces),
               part = static_cast<std::int32_t>(index / left.pieces % left.parts);
    const std::int64_t key_head = index / left.pieces / left.parts % left.key_heads,
                       s = index / left.pieces / left.parts / left.key_heads;
    const Sequence sequence = sequence_of(p, s);
    const Visible visible = visible_of(p, sequence);
    const std::int64_t first_row = std::int64_t{part} * kRows;
    if (sequence.queries > kMostDecodedQueries || first_row >= sequence.queries * p.group) continue;
    const auto rows = static_cast<int>(min(std::int64_t{kRows}, sequence.queries * p.group - first_row));
    const DecodeKeys keys = DecodeKeys::of(visible, sequence.queries, p.group, kRows, part, piece);
    if (keys.empty()) continue;

    Decoding<kRows, kFours, kWide> mine{p,       s, key_head,     static_cast<int>(first_row), rows, lane,
                                        visible, q, weights[warp]};
    for (int x = static_cast<int>(threadIdx.x); x < kRows * kMostSize; x += kThreads) {
      const int r = x / kMostSize, column = x % kMostSize;
      const bool there = r < rows && column < p.d;
      q[r][column] =
          there ? load_float(Head::row_of(p.q, s, mine.head(r), sequence.query_begin + mine.query(r)),
                             p.q.number, column * p.q.element)
                : 0.f;
    }
    __syncthreads();
    for (int r = 0; r < kRows; ++r) mine.largest[r] = -CUDART_INF_F;
    const char *const k = Head::row_of(p.k, s, key_head, sequence.key_begin), *const v = Head::row_of(
                                                                                  p.v, s, key_head,
                                                                                  sequence.key_begin);
    for (std::int64_t tile = keys.first_tile(kTile) + warp; tile < keys.tile_end(kTile); tile += kWarps) {
      const std::int64_t first = tile * kTile;
      float score[kRows] = {};
      std::uint32_t parts[kRows];
      mine.scores(k, first + lane, keys.end, score);
      if (mine.weigh(first + lane, score, parts)) {
        mine.template add_values<true>(v, first, keys.end, parts);
      } else {
        mine.template add_values<false>(v, first, keys.end, parts);
      }
    }

    for (int r = 0; r < kRows; ++r) {
      for (int step = 1; step < 32; step *= 2) mine.sum[r] += __shfl_xor_sync(~0u, mine.sum[r], step);
      if (lane == 0) states[warp][r] = {mine.largest[r], mine.sum[r]};
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= rows) break;
#pragma unroll
      for (int x = 0; x < kFours; ++x)
        *reinterpret_cast<float4*>(&sums[warp][x * 128 + lane * 4]) = mine.o[r][x];
      __syncthreads();
      float most = -CUDART_INF_F;
      for (int w = 0; w < kWarps; ++w) most = fmaxf(most, states[w][r].x);
      const float shift = most == -CUDART_INF_F ? 0.f : most;
      const std::int64_t at = left.at(p.heads, s, mine.head(r), mine.query(r)) + piece;
      float added = 0, all = 0;
      for (int w = 0; w < kWarps; ++w) {
        const float weight = expf(states[w][r].x - shift);
        all = fmaf(weight, states[w][r].y, all);
        if (threadIdx.x < kFours * 128) added = fmaf(weight, sums[w][threadIdx.x], added);
      }
      if (threadIdx.x < left.columns) left.sums[at * left.columns + threadIdx.x] = added;
      if (threadIdx.x == 0) left.state[at] = {most, all};
      __syncthreads();
    }
  }
}

bool is_wide(const Placed& tensor, std::int64_t size) {
  return tensor.number == Number::f32 && tensor.element == 1 && size % 4 == 0 && tensor.row % 4 == 0 &&
         tensor.head % 4 == 0 && tensor.sequence % 4 == 0 &&
         reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0;
}

}  // namespace

bool portable_decode_takes(const plugin::Attention& call) {
  return call.k.data != nullptr && call.v.data != nullptr && call.dv > 0 && call.d <= kMostSize &&
         call.dv <= kMostSize;
}

void portable_decode(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                     const ForwardTarget& target) {
  Pieces left{};
  left.pieces = most_decode_pieces(call.longest_keys);
  left.most_queries = call.longest_queries < kMostDecodedQueries ? call.longest_queries : kMostDecodedQueries;
  left.columns = call.dv;
  left.key_heads = call.key_heads;
  const std::int64_t rows = call.sequence_count * call.query_heads * left.most_queries,
                     most_rows = left.most_queries * problem.group;
  if (rows == 0) return;
  if (rows >= INT32_MAX) fail("cannot decode ", rows, " rows in one call");
  const std::int64_t part_rows = most_rows <= 4 ? 4 : 8;
  left.parts = (most_rows + part_rows - 1) / part_rows;
  const auto states = static_cast<std::size_t>(rows * left.pieces);
  const Scratch scratch(place,
                        states * (sizeof(float2) + static_cast<std::size_t>(left.columns) * sizeof(float)));
  left.state = scratch.data<float2>();
  left.sums = reinterpret_cast<float*>(scratch.data() + states * sizeof(float2));
  const std::int64_t total = call.sequence_count * left.key_heads * left.parts * left.pieces;
  const bool wide = is_wide(problem.k, problem.d) && is_wide(problem.v, problem.dv), broad = call.dv > 128;
  const auto few = wide ? (broad ? decode_kernel<4, 2, true> : decode_kernel<4, 1, true>)
                        : (broad ? decode_kernel<4, 2, false> : decode_kernel<4, 1, false>);
  const auto more = wide ? (broad ? decode_kernel<8, 2, true> : decode_kernel<8, 1, true>)
                         : (broad ? decode_kernel<8, 2, false> : decode_kernel<8, 1, false>);
  const auto stream = static_cast<cudaStream_t>(place.stream);
  (part_rows == 4
       ? few
       : more)<<<static_cast<unsigned>(total < (1 << 30) ? total : (1 << 30)), kThreads, 0, stream>>>(
      problem, left, total);
  check(cudaGetLastError(), "launch decoding in f32");
  merge_pieces_kernel<<<static_cast<unsigned>(rows), 128, 0, stream>>>(problem, target, left);
  check(cudaGetLastError(), "launch the merging of pieces");
}

}  // namespace attend::cuda
