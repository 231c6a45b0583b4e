// Attention in plain f32 multiply-adds, for every device from compute capability 8.0 on, every type and size,
// every option: the path that is right before it is quick. A block computes 32 queries against 32 keys at a
// time; the scores of a tile, its softmax and its share of the output never leave the multiprocessor.
//
// A row's result depends on its own keys alone: tiles of keys start at multiples of 32, and a tile in which a
// row has no key multiplies its sums by exactly 1 and adds exactly 0.
#include "cuda/attention.h"
#include "cuda/decode_plan.h"
#include "cuda/error.h"
#include "cuda/head.cuh"

namespace attend::cuda {
namespace {

constexpr int kRows = 32, kKeys = 32, kSlice = 32;  // queries, keys, elements of a row at a time
constexpr int kThreads = 128, kLanes = 16;          // 8 groups of 4 rows, 16 threads each

struct Tile {
  std::int64_t sequence, head, first;  // first query
  std::int64_t column;                 // first column of the output
};

// kColumns: columns of the output for each thread, 16 apart.
template <int kColumns>
__global__ void __launch_bounds__(kThreads)
    portable_kernel(const Problem p, const ForwardTarget target, std::int64_t row_tiles, std::int64_t column_tiles,
                    std::int64_t total) {
  __shared__ float qs[kRows][kSlice + 1], ks[kKeys][kSlice + 1], weights[kRows][kKeys + 1];
  __shared__ float vs[kKeys][kColumns * kLanes];
  __shared__ std::uint32_t parts[kRows];  // which keys of the tile take part
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;

  for (std::int64_t index = blockIdx.x; index < total; index += gridDim.x) {
    Tile tile;
    tile.column = index % column_tiles * (kColumns * kLanes);
    tile.first = index / column_tiles % row_tiles * kRows;
    tile.head = index / column_tiles / row_tiles % p.heads;
    tile.sequence = index / column_tiles / row_tiles / p.heads;
    const Head head(p, tile.sequence, tile.head);
    const std::int64_t queries = head.sequence.queries;
    if (tile.first >= queries || queries <= p.few) continue;
    const std::int64_t last = min(tile.first + kRows, queries) - 1;
    const std::int64_t columns = min(std::int64_t{kColumns * kLanes}, p.dv - tile.column);

    float o[4][kColumns] = {}, largest[4], sum[4];
    KeySpan span[4];
    for (int r = 0; r < 4; ++r) {
      largest[r] = head.sink;
      sum[r] = head.sink == -CUDART_INF_F ? 0.f : 1.f;
      span[r] = head.visible.keys_of(min(tile.first + group * 4 + r, last));
    }
    const std::int64_t begin = head.visible.keys_of(tile.first).begin / kKeys * kKeys;
    const std::int64_t end = head.visible.keys_of(last).end;
    for (std::int64_t key = begin; key < end; key += kKeys) {
      float s[4][2] = {};
      for (std::int64_t slice = 0; slice < p.d; slice += kSlice) {
        __syncthreads();
        for (int x = threadIdx.x; x < kRows * kSlice; x += kThreads) {
          const int row = x / kSlice, column = x % kSlice;
          const bool in = slice + column < p.d;
          qs[row][column] = in && tile.first + row < queries
                                ? load_float(head.q, p.q.number,
                                             (tile.first + row) * p.q.row + (slice + column) * p.q.element)
                                : 0.f;
          ks[row][column] =
              in && key + row < end
                  ? load_float(head.k, p.k.number, (key + row) * p.k.row + (slice + column) * p.k.element)
                  : 0.f;
        }
        __syncthreads();
#pragma unroll 8
        for (int c = 0; c < kSlice; ++c) {
          const float a = ks[lane][c], b = ks[lane + kLanes][c];
#pragma unroll
          for (int r = 0; r < 4; ++r) {
            s[r][0] = fmaf(qs[group * 4 + r][c], a, s[r][0]);
            s[r][1] = fmaf(qs[group * 4 + r][c], b, s[r][1]);
          }
        }
      }

#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const std::int64_t i = tile.first + group * 4 + r;
        float b[2];
        for (int x = 0; x < 2; ++x) {
          const std::int64_t j = key + lane + x * kLanes;
          b[x] = i <= last ? head.biased(p, span[r], i, j, p.scale * s[r][x]) : -CUDART_INF_F;
        }
        float now = fmaxf(largest[r], fmaxf(b[0], b[1]));
        for (int step = 1; step < kLanes; step *= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, step));
        const float scale = now == largest[r] ? 1.f : expf(largest[r] - now);
        float added = 0;
        for (int x = 0; x < 2; ++x) {
          const bool part = b[x] != -CUDART_INF_F;
          float weight = part ? expf(b[x] - now) : 0.f;
          added += weight;
          if (p.drops() && part)
            weight = head.coins.keeps(i, key + lane + x * kLanes) ? weight * p.kept : weight * 0;
          weights[group * 4 + r][lane + x * kLanes] = weight;
          const std::uint32_t bits = __ballot_sync(~0u, part) >> (threadIdx.x % 32 / kLanes * kLanes) & 0xffff;
          if (lane == 0) parts[group * 4 + r] = x == 0 ? bits : parts[group * 4 + r] | bits << kLanes;
        }
        for (int step = 1; step < kLanes; step *= 2) added += __shfl_xor_sync(~0u, added, step);
        largest[r] = now;
        sum[r] = sum[r] * scale + added;
        for (int x = 0; x < kColumns; ++x) o[r][x] *= scale;
      }

      // What values hold is multiplied by 0 where a key takes no part, unless it is no number: then only those
      // that take part are looked at.
      bool strange = false;
      for (int x = threadIdx.x; x < kKeys * kColumns * kLanes; x += kThreads) {
        const int row = x / (kColumns * kLanes), column = x % (kColumns * kLanes);
        const float value = column < columns && key + row < end
                                ? load_float(head.v, p.v.number,
                                             (key + row) * p.v.row + (tile.column + column) * p.v.element)
                                : 0.f;
        strange = strange || !isfinite(value);
        vs[row][column] = value;
      }
      strange = __syncthreads_or(strange);
      for (int j = 0; j < kKeys; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const float weight = weights[group * 4 + r][j];
          if (strange && (parts[group * 4 + r] >> j & 1) == 0) continue;
#pragma unroll
          for (int x = 0; x < kColumns; ++x) o[r][x] = fmaf(weight, vs[j][lane + x * kLanes], o[r][x]);
        }
      }
    }

    for (int r = 0; r < 4; ++r) {
      const std::int64_t i = tile.first + group * 4 + r;
      if (i > last) continue;
      const bool none = largest[r] == -CUDART_INF_F && sum[r] == 0;
      const std::int64_t row = head.sequence.query_begin + i;
      char* const out = const_cast<char*>(Head::row_of(target.out, tile.sequence, tile.head, row));
      for (int x = 0; x < kColumns; ++x) {
        const std::int64_t column = tile.column + lane + x * kLanes;
        if (column < p.dv)
          store_float(out, target.out.number, column * target.out.element, none ? 0.f : o[r][x] / sum[r]);
      }
      if (target.max.data != nullptr && lane == 0 && tile.column == 0) {
        const float max = isnan(sum[r]) ? sum[r] : largest[r];
        *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(target.max, tile.sequence, tile.head, row))) = max;
        *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(target.sum, tile.sequence, tile.head, row))) =
            sum[r];
      }
    }
  }
}

template <int kColumns>
void launch(plugin::Place place, const plugin::Attention& call, const Problem& problem,
            const ForwardTarget& target) {
  const std::int64_t row_tiles = (call.longest_queries + kRows - 1) / kRows;
  // Without values there is still a row state.
  const std::int64_t column_tiles = call.dv == 0 ? 1 : (call.dv + kColumns * kLanes - 1) / (kColumns * kLanes);
  const std::int64_t total = row_tiles * column_tiles * call.query_heads * call.sequence_count;
  if (total == 0) return;
  const auto blocks = static_cast<unsigned>(total < (1 << 30) ? total : (1 << 30));
  portable_kernel<kColumns><<<blocks, kThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      problem, target, row_tiles, column_tiles, total);
  check(cudaGetLastError(), "launch the portable kernel");
}

}  // namespace

void portable_forward(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                      const ForwardTarget& target) {
  Problem rest = problem;
  if (problem.few == 0 && portable_decode_takes(call)) {
    std::int64_t few = 0;
    for (std::int64_t s = 0; s < call.sequence_count; ++s) few += call.sequences[s].queries <= kMostDecodedQueries;
    if (few != 0) portable_decode(place, call, problem, target);
    if (few == call.sequence_count) return;
    rest.few = kMostDecodedQueries;
  }
  if (call.dv <= 4 * kLanes) return launch<4>(place, call, rest, target);
  if (call.dv <= 8 * kLanes) return launch<8>(place, call, rest, target);
  launch<16>(place, call, rest, target);
}

}  // namespace attend::cuda
